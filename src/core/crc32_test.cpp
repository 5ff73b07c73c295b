// SPDX-License-Identifier: Apache-2.0
// Tests of checksums against published values.
#include "core/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace nibble::inline core {
namespace {

std::uint32_t crc32(const std::string& text) {
  return crc32_of(std::as_bytes(std::span(text)));
}

std::uint32_t crc32c(const std::string& text) {
  return crc32c_of(std::as_bytes(std::span(text)));
}

TEST(Crc32, GivesThePublishedValues) {  // the check value of every catalogue, and zlib's of bytes
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(crc32(std::string(32, '\0')), 0x190A55ADU);
  EXPECT_EQ(crc32(std::string(32, '\xff')), 0xFF6CAB0BU);
  EXPECT_EQ(crc32(""), 0U);
}

TEST(Crc32, OfCastagnoliGivesThePublishedValues) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

}  // namespace
}  // namespace nibble::inline core
