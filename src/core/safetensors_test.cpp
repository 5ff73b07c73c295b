// SPDX-License-Identifier: Apache-2.0
// Tests of safetensors: what is written comes back, headers that lie are refused by name.
#include "nibble/core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i & 0xFF);
  return length + header + data;
}

Safetensors parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "test");
}

std::string error_of_header(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

Tensor counted(DType dtype, const Shape& shape, int first) {
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < tensor.bytes(); ++i) {
    tensor.data()[i] = static_cast<std::byte>(first + static_cast<int>(i));
  }
  return tensor;
}

class SafetensorsFile : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  const fs::path path_ = fs::temp_directory_path() /
                         ("nibble_safetensors_test_" + std::to_string(::getpid()) + ".safetensors");
};

TEST_F(SafetensorsFile, EveryTypeComesBackInTheOrderThatWasGiven) {
  std::vector<Tensor> tensors;
  std::vector<NamedTensorView> views;
  for (int i = 0; i <= static_cast<int>(DType::u64); ++i) {
    const Shape shape = i % 3 == 0 ? Shape{} : (i % 3 == 1 ? Shape{3, 1, 5} : Shape{0, 7});
    tensors.push_back(counted(static_cast<DType>(i), shape, i));
  }
  for (const Tensor& tensor : tensors) {
    views.push_back({"t" + std::to_string(views.size()), tensor.view()});
  }
  const SafetensorsMetadata metadata = {{"a", "1"}, {"name \"q\"\n", "värde"}};
  write_safetensors(path_, metadata, views);
  const Safetensors back = read_safetensors(path_);
  EXPECT_EQ(back.metadata, metadata);
  ASSERT_EQ(back.tensors.size(), views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, views[i].name);
    EXPECT_EQ(back.tensors[i].tensor.dtype(), views[i].tensor.dtype());
    EXPECT_EQ(back.tensors[i].tensor.shape(), views[i].tensor.shape());
    EXPECT_EQ(
        std::memcmp(back.tensors[i].tensor.data(), views[i].tensor.data(), views[i].tensor.bytes()),
        0);
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(parse(bytes).metadata, metadata);
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]) % 8, 0);
}

TEST_F(SafetensorsFile, OpeningErrorsNameThePathAndTheReason) {
  try {
    read_safetensors(path_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              "[read_safetensors] cannot read " + path_.string() + ": No such file or directory");
  }
  EXPECT_THROW(read_safetensors(fs::temp_directory_path()), Error);
}

TEST_F(SafetensorsFile, AFailedWriteLeavesTheOldFile) {
  write_safetensors(path_, {{"old", "yes"}}, {});
  const Tensor tensor(DType::u8, Shape{1});
  const std::vector<NamedTensorView> twice = {{"a", tensor.view()}, {"a", tensor.view()}};
  EXPECT_THROW(write_safetensors(path_, {}, twice), Error);
  const std::vector<NamedTensorView> reserved = {{"__metadata__", tensor.view()}};
  EXPECT_THROW(write_safetensors(path_, {}, reserved), Error);
  EXPECT_THROW(write_safetensors(path_, {{"bad", "\xFF"}}, {}), Error);
  EXPECT_EQ(read_safetensors(path_).metadata.at("old"), "yes");
}

TEST(Safetensors, TheSmallestFileHasNothingInIt) {
  EXPECT_TRUE(parse(file_of("{}")).tensors.empty());
  EXPECT_TRUE(parse(file_of("{}      ")).metadata.empty());
}

TEST(Safetensors, EveryPrefixOfAFileIsAnError) {
  const std::string whole = file_of("{" + entry("a", "I16", "[2]", "[0,4]") + "}", "abcd");
  EXPECT_EQ(error_of_header(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(parse(whole.substr(0, size)), Error) << size;
  }
  EXPECT_THAT(error_of_header(whole + "e"), HasSubstr("data: got 5 bytes, expected 4 bytes"));
}

TEST(Safetensors, LengthsAreNotBelieved) {
  EXPECT_EQ(error_of_header("1234567"),
            "[read_safetensors] test: file: got 7 bytes, expected at least 8 bytes");
  EXPECT_EQ(error_of_header(std::string(8, '\xFF') + "{}"),
            "[read_safetensors] test: header length: got 18446744073709551615, expected 2 to 2");
  const std::string huge = "[4611686018427387904,4]";
  EXPECT_THAT(error_of_header(file_of("{" + entry("a", "F32", huge, "[0,0]") + "}")),
              HasSubstr("tensor 'a': [shape] elements"));
  EXPECT_THAT(
      error_of_header(file_of("{" + entry("a", "F32", "[1099511627776]", "[0,4]") + "}", "1234")),
      HasSubstr("tensor 'a': data_offsets: got [0, 4], expected the 4398046511104 bytes"));
}

TEST(Safetensors, OverlapsHolesAndOddOffsetsAreRefused) {
  const auto two = [](const std::string& second) {
    return error_of_header(file_of(
        "{" + entry("a", "U8", "[3]", "[0,3]") + "," + entry("b", "U8", "[2]", second) + "}",
        "12345"));
  };
  EXPECT_EQ(two("[3,5]"), "no error");
  EXPECT_EQ(two("[2,4]"),
            "[read_safetensors] test: tensor 'b': data_offsets begin: got 2 (overlaps), expected "
            "3");
  EXPECT_THAT(two("[4,6]"), HasSubstr("got 4 (a hole before it), expected 3"));
  EXPECT_THAT(two("[5,3]"), HasSubstr("got [5, 3], expected the 2 bytes of u8(2,)"));
  EXPECT_THAT(two("[3]"), HasSubstr("got 1 numbers, expected 2"));
  const std::string odd =
      "{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "I16", "[1]", "[1,3]") + "}";
  EXPECT_THAT(error_of_header(file_of(odd, "123")), HasSubstr("got 1, expected a multiple of 2"));
}

TEST(Safetensors, WrongHeadersSayWhere) {
  const auto wrong = [](const std::string& header) {
    return error_of_header(file_of(header, "1"));
  };
  const std::string good = entry("a", "U8", "[1]", "[0,1]");
  EXPECT_THAT(wrong("{" + good + "," + good + "}"), HasSubstr("got 'a' twice, expected one"));
  EXPECT_THAT(wrong("{" + entry("a", "F8_E4M3", "[1]", "[0,1]") + "}"),
              HasSubstr("tensor 'a': dtype: got 'F8_E4M3', expected F64"));
  EXPECT_THAT(wrong("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}"), HasSubstr("got no data_offsets"));
  EXPECT_THAT(wrong("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"), HasSubstr("got key 'dtype'"));
  EXPECT_THAT(wrong("{\"a\":{\"kind\":1}}"), HasSubstr("tensor 'a': got key 'kind'"));
  EXPECT_THAT(wrong("{\"a\":[1]}"), HasSubstr("tensor 'a': got a list, expected an object"));
  EXPECT_THAT(wrong("{\"a\":{\"dtype\":3}}"), HasSubstr("got 3, expected a string"));
  EXPECT_THAT(wrong("{" + entry("a", "U8", "[-1]", "[0,1]") + "}"),
              HasSubstr("got -1, expected integers of 0 or more"));
  EXPECT_THAT(wrong("{" + entry("a", "U8", "[1.0]", "[0,1]") + "}"), HasSubstr("got '1.0'"));
  EXPECT_THAT(wrong("{" + entry("a", "U8", "[[1]]", "[0,1]") + "}"), HasSubstr("got a list"));
  EXPECT_THAT(wrong("{" + entry("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}"),
              HasSubstr("at most 8 numbers"));
  EXPECT_THAT(wrong("{\"__metadata__\":{\"k\":1}," + good + "}"),
              HasSubstr("metadata 'k': got 1, expected a string"));
  EXPECT_THAT(wrong("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}," + good + "}"),
              HasSubstr("metadata: got 'k' twice"));
  EXPECT_THAT(wrong(" {}"), HasSubstr("header: got ' ', expected '{'"));
  EXPECT_THAT(wrong("{" + good + "} x"), HasSubstr("expected valid JSON"));
  EXPECT_THAT(wrong("{\"a\xFF\":1}"), HasSubstr("header at byte "));
  EXPECT_THAT(wrong("{" + good + "}" + std::string(1, '\0')), HasSubstr("got a zero byte"));
}

}  // namespace
}  // namespace nibble::inline core
