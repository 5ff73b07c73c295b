// SPDX-License-Identifier: Apache-2.0
#include "tests/networks/every_network.h"

namespace nibble {
namespace {

TEST(EveryNetwork, AnswersAsTheDefinitionsSay) {
  const std::vector<WholeNetwork> networks = whole_networks(false);
  EXPECT_GE(networks.size(), 8U);
  for (const WholeNetwork& each : networks) expect_defined_answers(each, {});
}

TEST(EveryNetwork, AnswersAsTheDefinitionsSayInFourBits) {
  for (const WholeNetwork& each : whole_networks(false)) expect_defined_answers(each, {4, 4});
}

}  // namespace
}  // namespace nibble
