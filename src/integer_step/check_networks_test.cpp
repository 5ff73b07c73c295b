// SPDX-License-Identifier: Apache-2.0
// Every network of the tree that has an integer form, trained on the CPU and by the definitions at
// once: every result of every operation is compared.
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "integer_step/integer_session_test_support.h"
#include "integer_step/test_random_train_network.h"

namespace nibble::inline integer_step {
namespace {

TEST(EveryNetwork, TrainsAsTheDefinitionsSay) {
  const std::vector<NamedCase> cases = networks(false);
  EXPECT_GE(cases.size(), 4U);
  for (const NamedCase& each : cases) expect_agreement(each, {}, 2, 3);
}

TEST(EveryNetwork, TrainsAsTheDefinitionsSayUnderEveryRule) {
  const std::vector<NamedCase> cases = networks(false);
  const int steps = kIsSanitized ? 2 : 3;  // the first one guesses no shift
  for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed}) {
    IntegerOptions options{.rule = rule, .form = CrossEntropyForm::whole_octaves};
    options.update = ShiftUpdate{.fraction_bits = 6, .momentum = 13, .has_decay = true};
    options.roundings.all = {ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic,
                             ShiftRounding::stochastic};
    for (const NamedCase& each : cases) expect_agreement(each, options, steps, 2);
  }
}

TEST(EveryNetwork, TrainsAsTheDefinitionsSayUnderTheRuleSgd) {
  IntegerOptions options{.update = SgdUpdate{.rate = {20000, -16},
                                             .decay = {20000, -24},
                                             .has_norm_decay = true,
                                             .looks_ahead = true}};
  options.roundings.all.gradient = ShiftRounding::stochastic;
  for (const NamedCase& each : networks(false)) expect_agreement(each, options, 2, 2);
}

TEST(EveryNetwork, OfChanceWithBatchNormsTrainsAsTheDefinitionsSay) {
  int agreed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const NamedCase one{"seed " + std::to_string(seed),
                        network_of(RandomTrainNetwork(seed, {.has_norms = true}).toml())};
    if (!has_form(one.network)) continue;
    ++agreed;
    IntegerOptions options{.rule = seed % 2 == 0 ? ShiftRule::exact : ShiftRule::delayed};
    options.roundings.all.error = ShiftRounding::stochastic;
    expect_agreement(one, options, 2, static_cast<std::int64_t>(seed % 7) + 1);
  }
  EXPECT_GE(agreed, 20);
}

TEST(EveryNetwork, OfChanceWithConcatenationsTrainsAsTheDefinitionsSay) {
  int agreed = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const NamedCase one{"seed " + std::to_string(seed),
                        network_of(RandomTrainNetwork(seed, {.has_concats = true}).toml())};
    if (!has_form(one.network) || !has_concat(one.network)) continue;
    ++agreed;
    IntegerOptions options{.rule = seed % 2 == 0 ? ShiftRule::exact : ShiftRule::delayed};
    options.roundings.all.value = ShiftRounding::stochastic;
    expect_agreement(one, options, 2, static_cast<std::int64_t>(seed % 7) + 1);
  }
  EXPECT_GE(agreed, 15);
}

// Rates so large that weights grow: exponents follow them.
TEST(EveryNetwork, MovesTheExponentsOfItsWeights) {
  const NamedCase one = networks(false).front();
  IntegerOptions options{.update = SgdUpdate{.rate = {20000, -13}}};
  options.device = kBoth;
  IntegerSession session(one.network, options);
  const auto exponents = [&] {
    std::vector<int> all;
    for (const TrainedTensor* each : session.tape().parameters()) all.push_back(each->exponent());
    return all;
  };
  const std::vector<int> before = exponents();
  run_steps(session, 4, 5);
  EXPECT_NE(exponents(), before);
}

}  // namespace
}  // namespace nibble::inline integer_step
