// SPDX-License-Identifier: Apache-2.0
#include "tests/networks/every_network.h"

namespace nibble {
namespace {

TEST(EveryLargeNetwork, AnswersAsTheDefinitionsSay) {
  for (const WholeNetwork& each : whole_networks(true)) {
    expect_defined_answers(each, {});
    expect_defined_answers(each, {4, 4});
  }
}

}  // namespace
}  // namespace nibble
