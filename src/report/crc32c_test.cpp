// SPDX-License-Identifier: Apache-2.0
// Tests of the checksum of event files.
#include "report/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace nibble::inline report {
namespace {

TEST(Crc32c, GivesThePublishedValues) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, TheMaskTurnsAndAdds) {
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8u);
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u);
}

}  // namespace
}  // namespace nibble::inline report
