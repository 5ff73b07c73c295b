// SPDX-License-Identifier: Apache-2.0
// The large networks of the tree on the CPU and by the definitions at once; the small ones are in
// check_networks_test.cpp.
#include <gtest/gtest.h>

#include "integer_step/integer_session_test_support.h"

namespace nibble::inline integer_step {
namespace {

TEST(EveryNetworkLong, TrainsAsTheDefinitionsSay) {
  for (const NamedCase& each : networks(true)) expect_agreement(each, {}, 1, 1);
}

}  // namespace
}  // namespace nibble::inline integer_step
