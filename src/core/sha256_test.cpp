// SPDX-License-Identifier: Apache-2.0
// Tests of SHA-256 by the vectors of FIPS 180-4's examples and NIST's CAVP.
#include "core/hash.h"

#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline core {
namespace {

std::string sha256_of(const std::string& text) {
  Sha256 hash;
  hash.add(bytes_of(text));
  return hash.hex();
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                      "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_of("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  // Around the ends of a block, where the padding changes its length.
  EXPECT_EQ(sha256_of(std::string(55, '\0')),
            "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(sha256_of(std::string(56, '\0')),
            "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(sha256_of(std::string(64, '\0')),
            "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

TEST(Sha256, DoesNotDependOnHowTheBytesWereCut) {
  const std::string text(1000, 'x');
  for (const std::size_t cut : {1u, 63u, 64u, 65u, 200u}) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += cut) {
      hash.add(bytes_of(text).subspan(at, std::min<std::size_t>(cut, text.size() - at)));
      (void)hash.hex();  // may be asked between pieces
    }
    EXPECT_EQ(hash.hex(), sha256_of(text)) << cut;
  }
}

}  // namespace
}  // namespace nibble::inline core
