// SPDX-License-Identifier: Apache-2.0
// Every network of the tree that has an integer form, trained on the CPU and by the definitions at
// once: every result of every operation is compared.
#include <gtest/gtest.h>

#include "integer_step/integer_session_test_support.h"

namespace nibble::inline integer_step {
namespace {

TEST(EveryNetwork, TrainsAsTheDefinitionsSay) {
  const std::vector<NamedCase> cases = networks(false);
  EXPECT_GE(cases.size(), 4U);
  for (const NamedCase& each : cases) expect_agreement(each, {}, 2, 3);
}

TEST(EveryNetwork, TrainsAsTheDefinitionsSayUnderEveryRule) {
  const std::vector<NamedCase> cases = networks(false);
  for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed}) {
    IntegerOptions options{.rule = rule, .form = CrossEntropyForm::whole_octaves};
    options.update = ShiftUpdate{.fraction_bits = 6, .momentum = 13, .has_decay = true};
    options.roundings.all = {ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic,
                             ShiftRounding::stochastic};
    for (const NamedCase& each : cases) expect_agreement(each, options, 3, 2);
  }
}

}  // namespace
}  // namespace nibble::inline integer_step
