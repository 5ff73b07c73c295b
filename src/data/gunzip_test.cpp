// SPDX-License-Identifier: Apache-2.0
// Tests of gzip data: read in pieces, over members, and never past a wrong byte.
#include "data/gunzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "core/test_support.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string unpack(const std::string& packed, std::size_t piece) {
  Gunzip gunzip(bytes_of(packed), "test.gz");
  std::string text;
  std::vector<std::byte> buffer(piece);
  for (;;) {
    const std::size_t got = gunzip.read(buffer);
    text.append(reinterpret_cast<const char*>(buffer.data()), got);
    if (got < piece) return text;
  }
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i);
  return text;
}

TEST(Gunzip, PiecesOfAnySizeGiveTheText) {
  const std::string text = long_text();
  const std::string packed = gzip(text);
  EXPECT_TRUE(is_gzip(bytes_of(packed)));
  EXPECT_LT(packed.size(), text.size());
  for (const std::size_t piece : {1U, 7U, 4096U, 1U << 20}) EXPECT_EQ(unpack(packed, piece), text);
  EXPECT_EQ(unpack(gzip(""), 8), "");
}

TEST(Gunzip, GivesNoMoreThanItsLimit) {
  const std::string zeros(std::size_t{65} << 20, '\0');
  const std::string packed = gzip(zeros);
  EXPECT_EQ(error_of([&] { (void)unpack(packed, 1 << 20); }),
            "[gunzip] test.gz: unpacked data: got more than 67108864 bytes, expected at most "
            "67108864 (limit 'inflation': --limits inflation=… raises it)");
  const LimitsScope scope(parse_limits("inflation=2000"));
  EXPECT_EQ(unpack(packed, 1 << 20), zeros);
}

TEST(Gunzip, MembersOneAfterTheOtherAreOneStream) {
  EXPECT_EQ(unpack(gzip("one ") + gzip("") + gzip("two"), 5), "one two");
}

TEST(Gunzip, EveryCutIsAnError) {
  const std::string packed = gzip("some text that is packed");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    EXPECT_THROW(unpack(packed.substr(0, size), 64), Error) << size;
  }
}

TEST(Gunzip, AWrongChecksumIsAnError) {
  std::string packed = gzip(long_text());
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);
  const std::string text = error_of([&] { unpack(packed, 4096); });
  EXPECT_NE(text.find("[gunzip] test.gz: broken gzip data: incorrect data check"),
            std::string::npos)
      << text;
}

TEST(Gunzip, WhatFollowsTheLastMemberIsAnError) {
  EXPECT_THROW(unpack(gzip("text") + "x", 64), Error);
  EXPECT_THROW(unpack(gzip("text") + std::string(8, '\0'), 64), Error);
}

}  // namespace
}  // namespace nibble::inline data
