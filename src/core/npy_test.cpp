// SPDX-License-Identifier: Apache-2.0
// Tests of .npy files: what NumPy writes is read, hostile bytes are refused, writing is exact.
#include "nibble/core/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/test_corpus.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(NIBBLE_CORPUS_DIR) / "npy";

std::string npy(const std::string& dict, const std::string& data) {
  const std::string length{static_cast<char>(dict.size() & 0xFF),
                           static_cast<char>(dict.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + dict + data;
}

std::string dict_of(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

Tensor read(const std::string& bytes) {
  std::istringstream in(bytes);
  return read_npy(in, "test");
}

std::string error_of_npy(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

class NpyFile : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string error() const {
    try {
      read_npy(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const fs::path path_ =
      fs::temp_directory_path() / ("nibble_npy_test_" + std::to_string(::getpid()) + ".npy");
};

TEST(NpyCorpus, EveryFileParsesOrThrowsErrorAsItsNameSays) {
  for_each_corpus_file("npy", 12, [](const fs::path& path, bool is_valid) {
    std::ifstream in(path, std::ios::binary);
    if (is_valid) {
      EXPECT_NO_THROW(read_npy(path));
      EXPECT_NO_THROW(read_npy(in, "x"));
    } else {
      EXPECT_THROW(read_npy(path), Error);
      EXPECT_THROW(read_npy(in, "x"), Error);
    }
  });
}

TEST(NpyCorpus, FilesOfNumpyHaveTheirValues) {
  const Tensor f4 = read_npy(kCorpus / "valid_v1_f4.npy");
  EXPECT_EQ(f4.shape(), (Shape{2, 3}));
  EXPECT_EQ(values_of<float>(f4), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of<std::int64_t>(read_npy(kCorpus / "valid_v2_i8.npy")),
            (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(values_of<std::uint8_t>(read_npy(kCorpus / "valid_v3_u1.npy")),
            (std::vector<std::uint8_t>{0, 1, 2, 3}));
  const Tensor scalar = read_npy(kCorpus / "valid_scalar_f8.npy");
  EXPECT_EQ(scalar.shape(), Shape());
  EXPECT_EQ(values_of<double>(scalar), std::vector<double>{2.5});
  EXPECT_EQ(read_npy(kCorpus / "valid_empty_f2.npy").shape(), (Shape{0, 7}));
}

TEST(NpyCorpus, BfloatOfMlDtypesIsRead) {
  const Tensor tensor = read_npy(kCorpus / "valid_bfloat16.npy");
  EXPECT_EQ(tensor.dtype(), DType::bf16);
  const std::uint16_t expected[] = {0x3F80, 0xC020};  // 1, -2.5
  ASSERT_EQ(tensor.bytes(), sizeof(expected));
  EXPECT_EQ(std::memcmp(tensor.data(), expected, sizeof(expected)), 0);
}

TEST(NpyCorpus, FortranOrderBecomesRowMajor) {
  const Tensor tensor = read_npy(kCorpus / "valid_fortran_u2.npy");
  EXPECT_EQ(tensor.shape(), (Shape{2, 3, 4}));
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.as<std::uint16_t>()[i], i);
}

TEST(NpyHeader, TheOffsetOfTheDataIsTheEndOfTheHeader) {
  const std::string bytes = npy(dict_of("<i2", "(1,)"), "ab");
  const NpyHeader header = parse_npy_header(std::as_bytes(std::span(bytes)), "test");
  EXPECT_EQ(header.dtype, DType::i16);
  EXPECT_EQ(header.data_offset, bytes.size() - 2);
  EXPECT_FALSE(header.fortran_order);
}

TEST(NpyHeader, ErrorsNameThePositionAndWhatWasExpected) {
  EXPECT_EQ(error_of_npy(npy("{'descr' '<f4'}", "")),
            "[read_npy] test: header at byte 19: got ''', expected ':'");
  EXPECT_EQ(error_of_npy(npy("{'descr': '>f4'}", "")),
            "[read_npy] test: header at byte 20: got big-endian descr '>f4', expected "
            "little-endian data");
  EXPECT_EQ(error_of_npy(npy("{'\n'}", "")),
            "[read_npy] test: header at byte 12: got '\\x0a', expected the closing quote");
  EXPECT_EQ(error_of_npy("abcdefgh"),
            "[read_npy] test: magic: got 'abcdef', expected '\\x93NUMPY'");
  EXPECT_EQ(error_of_npy(""), "[read_npy] test: header: got 0 bytes, expected at least 8 bytes");
}

TEST(NpyHeader, LongHeadersAndHighRanksAreRefusedBeforeTheyAreRead) {
  EXPECT_EQ(error_of_npy(std::string("\x93NUMPY\x02\x00\x01\x00\x10\x00", 12)),
            "[read_npy] test: header length: got 1048577, expected at most 1048576");
  EXPECT_NE(error_of_npy(npy(dict_of("|u1", "(1,1,1,1,1,1,1,1,1)"), "x")).find("at most 8 extents"),
            std::string::npos);
}

TEST(NpyHeader, EveryPrefixOfAFileIsAnError) {
  const std::string whole = npy(dict_of("<f4", "(2, 1)"), "12345678");
  EXPECT_EQ(read(whole).shape(), (Shape{2, 1}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(read(whole.substr(0, size)), Error) << size;
  }
}

TEST(NpyHeader, StrangeShapesAreRefused) {
  for (const char* shape : {"(1)", "(1 1)", "(,)", "(1,,1)", "(-1,)", "(1.0,)", "[1]", "(0x1,)",
                            "(9223372036854775808,)", "(1,", "('1',)", "None"}) {
    EXPECT_NE(error_of_npy(npy(dict_of("|u1", shape), "x")), "no error") << shape;
  }
  for (const char* shape : {"()", "(1,)", "( 1 , 1 )", "(1,1,)", "(1, 1, 1, 1, 1, 1, 1, 1)"}) {
    EXPECT_EQ(error_of_npy(npy(dict_of("|u1", shape), "x")), "no error") << shape;
  }
}

TEST(NpyHeader, UnknownTypesAreRefused) {
  for (const char* descr : {"|b1", "<c8", "<U1", "|S1", "|O", "<f16", "<M8[ns]", "", "V2", "f4"}) {
    EXPECT_NE(error_of_npy(npy(dict_of(descr, "()"), std::string(16, 'x'))).find("descr"),
              std::string::npos)
        << descr;
  }
}

TEST(NpyStream, MissingDataIsCounted) {
  EXPECT_EQ(error_of_npy(npy(dict_of("<f8", "(3,)"), "1234567890")),
            "[read_npy] test: data: got 10 bytes, expected 24 bytes");
  // A header that lies about terabytes costs one small piece of memory.
  EXPECT_EQ(error_of_npy(npy(dict_of("<f8", "(1099511627776,)"), "1234567890")),
            "[read_npy] test: data: got 10 bytes, expected 8796093022208 bytes");
}

TEST(NpyStream, DataOfManyPiecesArrivesWhole) {
  Tensor tensor(DType::u32, Shape{1500, 1000});
  std::uint32_t next = 0;
  for (std::uint32_t& x : tensor.as<std::uint32_t>()) x = next++;
  std::stringstream stream;
  write_npy(stream, tensor.view());
  EXPECT_EQ(values_of<std::uint32_t>(read_npy(stream, "test")), values_of<std::uint32_t>(tensor));
}

TEST(NpyStream, ArraysCanFollowEachOther) {
  const std::string one = npy(dict_of("|u1", "(2,)"), "ab");
  std::istringstream in(one + one);
  read_npy(in, "first");
  EXPECT_EQ(values_of<std::uint8_t>(read_npy(in, "second")), (std::vector<std::uint8_t>{'a', 'b'}));
}

TEST(NpyStream, AFailedWriteIsAnError) {
  std::ofstream out("/dev/full", std::ios::binary);
  if (!out) GTEST_SKIP() << "no /dev/full";
  EXPECT_THROW(write_npy(out, Tensor(DType::u8, Shape{0}).view()), Error);
}

TEST_F(NpyFile, EveryTypeComesBackAsItWasWritten) {
  for (int i = 0; i <= static_cast<int>(DType::u64); ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 3}, Shape{2, 1, 3, 2}}) {
      Tensor tensor(dtype, shape);
      for (std::size_t at = 0; at < tensor.bytes(); ++at) tensor.data()[at] = std::byte(7 * at + 1);
      write_npy(path_, tensor.view());
      const Tensor back = read_npy(path_);
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(std::memcmp(back.data(), tensor.data(), tensor.bytes()), 0);
      EXPECT_EQ((fs::file_size(path_) - tensor.bytes()) % 64, 0u);
    }
  }
}

TEST_F(NpyFile, TheBytesAreThoseOfNumpy) {
  write_npy(path_, read_npy(kCorpus / "valid_v1_f4.npy").view());
  const auto content = [](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  // NumPy keeps room in the header for the shape to grow; only the padding may differ.
  const std::string ours = content(path_);
  const std::string theirs = content(kCorpus / "valid_v1_f4.npy");
  const std::size_t end = theirs.find('}') + 1;
  EXPECT_EQ(ours.substr(10, end - 10), theirs.substr(10, end - 10));
  EXPECT_EQ(ours.substr(0, 8), theirs.substr(0, 8));
}

TEST_F(NpyFile, ATruncatedAndAnOversizedFileSayTheirSizes) {
  const std::string dict = dict_of("|u1", "(2,)");
  const std::string header_size = std::to_string(10 + dict.size());
  const std::string whole_size = std::to_string(12 + dict.size());
  put(npy(dict, ""));
  EXPECT_EQ(error(), "[read_npy] " + path_.string() + ": truncated file: got " + header_size +
                         " bytes, expected " + whole_size + " bytes");
  put(npy(dict, "ab"));
  EXPECT_EQ(error(), "no error");
  put(npy(dict, "abc"));
  EXPECT_EQ(error(), "[read_npy] " + path_.string() + ": oversized file: got " +
                         std::to_string(13 + dict.size()) + " bytes, expected " + whole_size +
                         " bytes");
}

TEST_F(NpyFile, OpeningErrorsNameThePathAndTheReason) {
  EXPECT_EQ(error(), "[read_npy] cannot open " + path_.string() + ": No such file or directory");
  try {
    read_npy(fs::temp_directory_path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Is a directory"), std::string::npos);
  }
}

}  // namespace
}  // namespace nibble::inline core
