// SPDX-License-Identifier: Apache-2.0
#include "placement/auto_place.h"

#include <gtest/gtest.h>

#include "backend/place_rules.h"
#include "core/test_support.h"

namespace nibble::inline placement {
namespace {

TEST(AutoPlaces, NameTheirDevices) {
  using Two = std::array<std::string, 2>;
  EXPECT_EQ(parse_auto("auto(cpu,reference)").devices, (Two{"cpu", "reference"}));
  EXPECT_EQ(parse_auto("auto( cuda:1 , cpu )").devices, (Two{"cuda:1", "cpu"}));
  EXPECT_EQ(parse_auto("auto").devices[0], "cpu");
  for (const char* wrong : {"auto(cpu)", "auto(cpu,gpu)", "auto()"})
    EXPECT_NE(error_of([&] { parse_auto(wrong); }), "no error") << wrong;
}

TEST(AutoPlaces, SayHowMuchMayBeThere) {
  EXPECT_EQ(parse_auto("auto").most_memory, 0);
  EXPECT_EQ(parse_auto("auto within 2GB").most_memory, 2'000'000'000);
  EXPECT_EQ(parse_auto("auto(cpu,pretend) within 3KiB").most_memory, 3072);
  EXPECT_EQ(parse_auto("auto(cpu,pretend) within 3KiB").devices[1], "pretend");
  EXPECT_EQ(parse_auto("auto within 512").most_memory, std::int64_t{512} << 20);
  EXPECT_EQ(parse_auto("auto within 1048576GiB").most_memory, std::int64_t{1} << 50);
  EXPECT_TRUE(is_auto("auto within 2GB"));
  EXPECT_TRUE(is_auto("auto(cpu,cuda) within 2GB"));
  EXPECT_FALSE(is_auto("cuda within 2GB"));
  for (const char* wrong : {"", "GB", "-1", "2 GB", "2gb", "1.5GB", "9999999GB", "1GB within 2GB"})
    EXPECT_NE(error_of([&] {
                parse_auto(std::string("auto within ") + wrong);
              }).find("2GB, 512MiB, or a number of MiB"),
              std::string::npos)
        << wrong;
}

}  // namespace
}  // namespace nibble::inline placement
