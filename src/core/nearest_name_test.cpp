// SPDX-License-Identifier: Apache-2.0
#include "core/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace nibble::inline core {
namespace {

const std::vector<std::string> kNames = {"train", "eval", "tune", "resnet18-32x32", "resnet20"};

TEST(NearestName, OneLetterChangedAddedLeftOutOrSwapped) {
  EXPECT_EQ(nearest_name("drain", kNames), "train");
  EXPECT_EQ(nearest_name("traain", kNames), "train");
  EXPECT_EQ(nearest_name("evl", kNames), "eval");
  EXPECT_EQ(nearest_name("trian", kNames), "train");
  EXPECT_EQ(nearest_name("train", kNames), "train");
}

TEST(NearestName, LongerWordsMayDifferMore) {
  EXPECT_EQ(nearest_name("resnet18-3232", kNames), "resnet18-32x32");
  EXPECT_EQ(nearest_name("resnet-21", kNames), "resnet20");
}

TEST(NearestName, WhatIsFarFromAllIsNone) {
  EXPECT_EQ(nearest_name("help", kNames), "");
  EXPECT_EQ(nearest_name("tn", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("train", {}), "");
}

}  // namespace
}  // namespace nibble::inline core
