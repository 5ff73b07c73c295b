// SPDX-License-Identifier: Apache-2.0
// Tests of the tensors of the MLPerf harness.
#include "data/harness_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/test_support.h"
#include "nibble/core/npy.h"

namespace nibble::inline data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_of(const std::string& dictionary, const std::string& data) {
  const std::string length{static_cast<char>(dictionary.size() & 0xFF),
                           static_cast<char>(dictionary.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + dictionary + data;
}

std::string string_of(const std::string& type, const std::string& data) {
  return file_of("{'descr': '" + type + "', 'fortran_order': False, 'shape': (), }   \n", data);
}

TEST(HarnessTensor, IsReadByChannelAndGivenByPixel) {
  const std::string file = string_of("|S6", {1, 2, 3, -4, -5, 0});
  ASSERT_TRUE(is_harness_tensor(bytes_of(file)));
  const Tensor tensor = parse_harness_tensor(bytes_of(file), {1, 3, 2}, "x");
  EXPECT_EQ(tensor.shape(), (Shape{1, 3, 2}));
  const auto values = tensor.as<std::int8_t>();
  EXPECT_THAT(std::vector<int>(values.begin(), values.end()), ElementsAre(1, -4, 2, -5, 3, 0));
}

// The bytes numpy.save writes for a string of 150,528 bytes, as the header's text and padding go.
TEST(HarnessTensor, IsWrittenAsNumpyDoes) {
  const TemporaryFolder folder;
  Tensor picture(DType::i8, {224, 224, 3});
  std::int8_t next = 0;
  for (std::int8_t& each : picture.as<std::int8_t>())
    each = next = static_cast<std::int8_t>(next * 5 + 3);
  write_harness_tensor(folder.path() / "x.npy", picture.view());
  const std::string bytes = folder.content_of("x.npy");
  ASSERT_EQ(bytes.size(), 128U + 150528U);
  const std::string header = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                             "{'descr': '|S150528', 'fortran_order': False, 'shape': (), }";
  EXPECT_EQ(bytes.substr(0, 128), header + std::string(127 - header.size(), ' ') + "\n");
  const Tensor back = parse_harness_tensor(bytes_of(bytes), {224, 224, 3}, "x.npy");
  EXPECT_TRUE(std::ranges::equal(back.as<std::int8_t>(), std::as_const(picture).as<std::int8_t>()));
  EXPECT_EQ(folder.files(), 1);
}

TEST(HarnessTensor, OtherFilesAreNone) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "x.npy", Tensor(DType::i8, {1, 3, 2}).view());
  for (const std::string& file :
       {std::string(), std::string("\x93NUMPY"), folder.content_of("x.npy"), string_of("|S", "ab"),
        string_of("|U2", "ab"), string_of("|S99999999999999999999", "ab"),
        file_of("{'descr': '|S2', 'fortran_order': False, 'shape': (1,), }\n", "ab"),
        file_of("{'descr': '|S2', 'fortran_order': False, 'shape': (), } x\n", "ab")}) {
    EXPECT_FALSE(is_harness_tensor(bytes_of(file))) << file;
    EXPECT_THAT(error_of([&] {
                  parse_harness_tensor(bytes_of(file), {1, 1, 2}, "x");
                }),
                HasSubstr("expected a .npy of no axis and the type |Sn"));
  }
}

TEST(HarnessTensor, OtherSizesAreRefused) {
  const auto error = [](const std::string& file, const Shape& shape) {
    return error_of([&] { parse_harness_tensor(bytes_of(file), shape, "x"); });
  };
  EXPECT_EQ(error(string_of("|S6", "abcdef"), {1, 2, 2}),
            "[parse_harness_tensor] x: bytes: got 6, |S6, expected 4 of (1, 2, 2)");
  EXPECT_THAT(error(string_of("|S4", "abc"), {1, 2, 2}), HasSubstr("got 3, |S4"));
  EXPECT_THAT(error(string_of("|S3", "abcd"), {1, 2, 2}), HasSubstr("got 4, |S3"));
  EXPECT_THAT(error(string_of("|S4", "abcd"), {4}), HasSubstr("expected (h, w, c)"));
  const TemporaryFolder folder;
  EXPECT_THROW(write_harness_tensor(folder.path() / "x", Tensor(DType::i32, {1, 1, 1}).view()),
               Error);
  EXPECT_THROW(write_harness_tensor(folder.path() / "x", Tensor(DType::i8, {4}).view()), Error);
}

}  // namespace
}  // namespace nibble::inline data
