// SPDX-License-Identifier: Apache-2.0
#include "nibble/core/limits.h"

#include <gtest/gtest.h>

#include <string>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

std::string parse_error(std::string_view text) {
  try {
    (void)parse_limits(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Limits, AreReadByName) {
  const Limits read = parse_limits("memory=2G,nodes=70000,geometry=3K");
  EXPECT_EQ(read.memory, std::int64_t{2} << 30);
  EXPECT_EQ(read.nodes, 70000);
  EXPECT_EQ(read.geometry, 3072);
  EXPECT_EQ(read.values, Limits{}.values);
  EXPECT_EQ(parse_limits("", read), read);
  EXPECT_EQ(parse_limits(to_string(read)), read);
}

TEST(Limits, RefuseWhatIsNoLimit) {
  EXPECT_EQ(parse_error("speed=3"),
            "[limits] limit: got 'speed', expected one of memory, values, macs, geometry, nodes, "
            "name, inflation");
  EXPECT_EQ(parse_error("memory"), "[limits] item: got 'memory', expected name=number");
  for (const char* wrong : {"name=0", "name=-1", "name=", "name=x", "name=3k", "name=3KK",
                            "name=65537", "name=65K", "name=9999999999999999999999", "name=64G"}) {
    EXPECT_EQ(parse_error(wrong), "[limits] name: got '" + std::string(wrong).substr(5) +
                                      "', expected 1 to 65536, K, M, G or T behind it");
  }
}

TEST(Limits, OfAScopeAreThoseOfItsThread) {
  const Limits before = limits();
  {
    const LimitsScope outer(parse_limits("nodes=5"));
    EXPECT_EQ(limits().nodes, 5);
    {
      const LimitsScope none(std::nullopt);
      EXPECT_EQ(limits().nodes, 5);
      const LimitsScope inner(parse_limits("nodes=6"));
      EXPECT_EQ(limits().nodes, 6);
    }
    EXPECT_EQ(limits().nodes, 5);
  }
  EXPECT_EQ(limits(), before);
  set_limits(parse_limits("nodes=7"));
  EXPECT_EQ(limits().nodes, 7);
  set_limits(before);
}

TEST(Limits, NameThemselvesInErrors) {
  const LimitsScope scope(parse_limits("nodes=5"));
  EXPECT_NO_THROW(check_limit("nodes", 5, "network", "nodes"));
  try {
    check_limit("nodes", 6, "network", "nodes");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[network] nodes: got 6, expected at most 5 (limit 'nodes': --limits nodes=… "
                 "raises it)");
  }
}

TEST(Limits, LetSmallDataGrowAndLargeDataByAFactor) {
  EXPECT_EQ(most_inflated(1), std::int64_t{64} << 20);
  EXPECT_EQ(most_inflated(std::int64_t{1} << 30), std::int64_t{100} << 30);
  EXPECT_EQ(most_inflated(INT64_MAX), INT64_MAX);
}

}  // namespace
}  // namespace nibble::inline core
