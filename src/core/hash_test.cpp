// SPDX-License-Identifier: Apache-2.0
// Tests of content hashes.
#include "core/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace nibble::inline core {
namespace {

std::vector<std::uint32_t> counted(std::size_t n) {
  std::vector<std::uint32_t> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  return values;
}

TEST(Hash, OfNothingIsThePublishedXxh3Value) {
  EXPECT_EQ(hex(hash_of({})), "2d06800538d394c2");
  EXPECT_EQ(Hasher().value(), hash_of({}));
}

TEST(Hash, DoesNotDependOnHowTheBytesWereCut) {
  const std::vector<std::uint32_t> values = counted(1000);
  const auto bytes = std::as_bytes(std::span(values));
  for (const std::size_t cut : {1u, 7u, 64u, 1000u, 4000u}) {
    Hasher hasher;
    for (std::size_t at = 0; at < bytes.size(); at += cut) {
      hasher.add(bytes.subspan(at, std::min(cut, bytes.size() - at)));
    }
    EXPECT_EQ(hasher.value(), hash_of(bytes)) << cut;
  }
}

TEST(Hash, TypedSpansAndTextCountAsTheirBytes) {
  const std::vector<std::uint32_t> values{0x64636261u};
  Hasher typed;
  typed.add(std::span<const std::uint32_t>(values));
  Hasher text;
  text.add("abcd");
  EXPECT_EQ(typed.value(), text.value());
  EXPECT_EQ(typed.value(), hash_of(std::as_bytes(std::span(values))));
}

TEST(Hash, ValueMayBeAskedBetweenPieces) {
  Hasher once;
  once.add("abc");
  Hasher twice;
  twice.add("ab");
  const std::uint64_t before = twice.value();
  twice.add("c");
  EXPECT_NE(before, twice.value());
  EXPECT_EQ(once.value(), twice.value());
}

TEST(Hash, HexHasSixteenLowerCaseDigits) {
  EXPECT_EQ(hex(0xABCu), "0000000000000abc");
}

}  // namespace
}  // namespace nibble::inline core
