// SPDX-License-Identifier: Apache-2.0
// One hash of the weights of whole networks, on the CPU and another device. A program says which
// networks, on which device, and how often.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "placement/one_hash_test_support.h"

namespace nibble::inline placement {

struct PlacedNetwork {
  std::string network;
  std::string device;
  int steps;
  std::int64_t images;
};

// Batches as large as a device that is quick has time for.
inline std::vector<PlacedNetwork> four_networks(const std::string& device) {
  return {{"convnet-8x8", device, 4, 32},
          {"lenet", device, 3, 16},
          {"vgg-small-7", device, 2, 8},
          {"resnet20", device, 2, 16}};
}

class PlacedNetworks : public testing::TestWithParam<PlacedNetwork> {
 protected:
  PlacedNetworks() {
    if (make_backend(GetParam().device)->shares_host()) set_thread_count(1);
  }
  Network network() const { return named(GetParam().network); }
};

// What auto would try takes longer to find than to compare.
class NetworksOfAuto : public PlacedNetworks {};

inline void PrintTo(const PlacedNetwork& each, std::ostream* out) {
  *out << each.network << " on " << each.device;
}

inline std::string name_of(const testing::TestParamInfo<PlacedNetwork>& info) {
  std::string name = info.param.network;
  std::erase(name, '-');
  return name;
}

TEST_P(PlacedNetworks, ByChanceGiveOneHash) {
  const PlacedNetwork& work = GetParam();
  expect_one_hash(network(), kByChance, work.device, work.steps, work.images);
}

TEST_P(PlacedNetworks, ResumedUnderOthersGiveOneHash) {
  const PlacedNetwork& work = GetParam();
  expect_one_hash_resumed(network(), kResumed, work.device, work.images);
}

TEST_P(NetworksOfAuto, GiveTheHashOfTheCpu) {
  const PlacedNetwork& work = GetParam();
  expect_one_hash_of_auto(network(), work.device, work.steps, work.images);
}

}  // namespace nibble::inline placement
