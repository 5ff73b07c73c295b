// SPDX-License-Identifier: Apache-2.0
// Tests of .npz files: the corpus is read or refused, and no cut or flipped byte goes unnoticed.
#include "data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/crc32.h"
#include "core/test_corpus.h"
#include "core/test_support.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kNpzCorpus = fs::path(NIBBLE_CORPUS_DIR) / "npz";

void read_all(const Npz& npz) {
  for (const std::string& name : npz.names()) npz.read(name);
}

std::string error_of_npz_file(const std::string& name) {
  return error_of([&] { read_all(Npz(kNpzCorpus / name)); });
}

std::string error_of_npz(const std::string& text) {
  return error_of([&] {
    const auto bytes = bytes_of(text);
    read_all(Npz({bytes.begin(), bytes.end()}, "x.npz"));
  });
}

std::string whole_file(const std::string& name) {
  std::ifstream in(kNpzCorpus / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(NpzCorpus, EveryFileIsReadOrRefusedAsItsNameSays) {
  for_each_corpus_file("npz", 40, [](const fs::path& path, bool is_valid) {
    const std::string error = error_of_npz_file(path.filename().string());
    if (is_valid)
      EXPECT_EQ(error, "no error");
    else
      EXPECT_THAT(error, HasSubstr(path.string()));
  });
}

TEST(NpzCorpus, AllWaysToPackGiveTheSameValues) {
  for (const char* name :
       {"valid_stored", "valid_plain", "valid_comment", "valid_data_descriptor", "valid_zip64_end",
        "valid_zip64_sizes", "valid_other_member", "valid_splits"}) {
    SCOPED_TRACE(name);
    const Npz npz(kNpzCorpus / name);
    const Tensor images = npz.read(npz.has("images") ? "images" : "train_images");
    ASSERT_EQ(images.shape(), (Shape{2, 3, 4}));
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(images.as<std::uint8_t>()[i], i);
  }
  EXPECT_EQ(Npz(kNpzCorpus / "valid_deflated").read("images").shape(), (Shape{20, 9, 9}));
  EXPECT_THAT(Npz(kNpzCorpus / "valid_stored").names(), ElementsAre("images", "labels"));
  EXPECT_TRUE(Npz(kNpzCorpus / "valid_no_array").names().empty());
}

TEST(NpzErrors, NameTheArrayAndWhatWasExpected) {
  EXPECT_THAT(error_of_npz_file("bad_crc"), HasSubstr("images.npy: checksum: got "));
  EXPECT_THAT(error_of_npz_file("bad_text"), HasSubstr("end of the archive: got none"));
  EXPECT_THAT(error_of_npz_file("bad_method"),
              HasSubstr("method: got 12, expected 0 (stored) or 8"));
  EXPECT_THAT(error_of_npz_file("bad_encrypted"), HasSubstr("images.npy: got encrypted"));
  EXPECT_THAT(error_of_npz_file("bad_duplicate"), HasSubstr("two of one name"));
  EXPECT_THAT(error_of_npz_file("bad_deflate_short"), HasSubstr("limit 'inflation'"));
  {
    const LimitsScope scope(parse_limits("inflation=16M"));
    EXPECT_THAT(error_of_npz_file("bad_deflate_short"), HasSubstr("expected 1073741824 bytes"));
  }
  EXPECT_THAT(error_of_npz_file("bad_deflate_long"), HasSubstr("more than 100 bytes"));
  EXPECT_THAT(error_of_npz_file("bad_npy_long"), HasSubstr("images: size: got "));
  EXPECT_THAT(error_of([] { Npz(kNpzCorpus / "valid_stored").read("weights"); }),
              HasSubstr("array: got 'weights', expected images, labels"));
  EXPECT_THAT(error_of_npz_file("absent"), HasSubstr("[read_npz] cannot read"));
}

TEST(Npz, EveryCutOfAFileIsRefused) {
  for (const char* name : {"valid_stored", "valid_deflated", "valid_zip64_end"}) {
    const std::string whole = whole_file(name);
    EXPECT_EQ(error_of_npz(whole), "no error");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(error_of_npz(whole.substr(0, size)), "no error") << name << ' ' << size;
    }
  }
}

TEST(Npz, EveryFlippedByteOfTheDataIsNoticed) {
  std::string bytes = whole_file("valid_plain");
  const std::size_t start = bytes.find("\x93NUMPY");
  const std::size_t end = bytes.find("PK\x01\x02");
  ASSERT_LT(start, end);
  for (std::size_t at = start; at < end; ++at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    EXPECT_THAT(error_of_npz(bytes), HasSubstr("checksum")) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  }
}

TEST(Crc32, HasTheCheckValueOfItsDefinition) {
  EXPECT_EQ(crc32_of(bytes_of("123456789")), 0xCBF43926u);
  EXPECT_EQ(crc32_of({}), 0u);
}

}  // namespace
}  // namespace nibble::inline data
