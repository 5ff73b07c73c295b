// SPDX-License-Identifier: Apache-2.0
// Tests of IDX files: the corpus is read or refused, errors name the file and the field.
#include "data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/test_corpus.h"
#include "core/test_support.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kCorpus = fs::path(NIBBLE_CORPUS_DIR) / "idx";

std::string error_of_file(const std::string& name) {
  return error_of([&] { read_idx(kCorpus / name); });
}

TEST(IdxCorpus, EveryFileIsReadOrRefusedAsItsNameSays) {
  for_each_corpus_file("idx", 25, [](const fs::path& path, bool is_valid) {
    const std::string error = error_of_file(path.filename().string());
    if (is_valid)
      EXPECT_EQ(error, "no error");
    else
      EXPECT_THAT(error, HasSubstr(path.string()));
  });
}

TEST(IdxCorpus, PlainAndPackedFilesHaveTheirValues) {
  for (const char* name : {"valid_images", "valid_gzip", "valid_gzip_two_members"}) {
    SCOPED_TRACE(name);
    const Tensor tensor = read_idx(kCorpus / name);
    ASSERT_EQ(tensor.shape(), (Shape{2, 3, 4}));
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.as<std::uint8_t>()[i], i);
  }
  EXPECT_EQ(read_idx(kCorpus / "valid_empty").shape(), (Shape{0, 28, 28}));
}

TEST(IdxErrors, NameTheFieldAndWhatWasExpected) {
  EXPECT_THAT(error_of_file("bad_short_magic"), HasSubstr("magic number: got 3 bytes, expected 4"));
  EXPECT_THAT(error_of_file("bad_magic"), HasSubstr("magic number: got 01 00, expected 00 00"));
  EXPECT_THAT(error_of_file("bad_type_float"),
              HasSubstr("element type: got 0x0d (f32), expected 0x08 (u8)"));
  EXPECT_THAT(error_of_file("bad_type_unknown"), HasSubstr("0x42 (unknown)"));
  EXPECT_THAT(error_of_file("bad_rank_zero"), HasSubstr("rank: got 0, expected 1 to 8"));
  EXPECT_THAT(error_of_file("bad_rank_nine"), HasSubstr("rank: got 9, expected 1 to 8"));
  EXPECT_THAT(error_of_file("bad_short_extents"), HasSubstr("extents: got 4 bytes, expected 12"));
  EXPECT_THAT(error_of_file("bad_overflow"), HasSubstr("extents: [shape] elements"));
  for (const char* name : {"bad_truncated", "bad_huge_extent", "bad_gzip_short_data"}) {
    EXPECT_THAT(error_of_file(name), HasSubstr("truncated data: got ")) << name;
  }
  for (const char* name : {"bad_oversized", "bad_gzip_long_data"}) {
    EXPECT_THAT(error_of_file(name), HasSubstr("oversized data: got more than 24 bytes")) << name;
  }
  EXPECT_THAT(error_of_file("bad_gzip_truncated"), HasSubstr("truncated gzip data"));
}

TEST(IdxErrors, WhatIsNoFileSaysSo) {
  EXPECT_THAT(error_of_file("absent"), HasSubstr("[read_idx] cannot read"));
  EXPECT_THAT(error_of([] { read_idx(kCorpus); }), HasSubstr("not a regular file"));
}

TEST(Idx, EveryCutOfAFileIsRefused) {
  for (const char* name : {"valid_images", "valid_gzip"}) {
    std::ifstream in(kCorpus / name, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(parse_idx(bytes_of(whole), name).elements(), 24);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW(parse_idx(bytes_of(whole).first(size), name), Error) << name << ' ' << size;
    }
  }
}

}  // namespace
}  // namespace nibble::inline data
