// SPDX-License-Identifier: Apache-2.0
// The simulated products: an fp32 quire is oneDNN's result up to its roundings, few bits are not.
#include "float_training/simulated_layer.h"

#include <gtest/gtest.h>

#include "float_training/test_networks.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

constexpr const char* kSimulatedNetwork = R"(
input = [6, 5, 4]
layers = [{op="conv2d", channels=6, kernel=[3,2], stride=[2,1], padding=[1,0], groups=2, bias=true}, {op="relu"},
          {op="flatten"}, {op="linear", features=3, bias=true}, {op="softmax_cross_entropy"}])";

PrecisionPolicy accumulating(const char* format, SumMethod method,
                             const char* rounding = "nearest-even") {
  PolicyRule rule;
  rule.roles = {Role::accumulator};
  rule.rounding.accumulator = accumulator_of(parse_format(format));
  rule.rounding.accumulator->method = method;
  rule.rounding.accumulator->rounding = parse_rounding(rounding);
  PrecisionPolicy policy;
  policy.rules.push_back(rule);
  return policy;
}

TEST(SimulatedLayers, ExactSumsAgreeWithFloatLayers) {
  const Network network = parse_network(kSimulatedNetwork, "test");
  TapeUnderTest plain(network, 3);
  TapeUnderTest simulated(network, 3, accumulating("fp32", SumMethod::quire));
  plain.run();
  simulated.run();
  const auto expected = plain.gradients();
  const auto got = simulated.gradients();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t p = 0; p < got.size(); ++p) {
    ASSERT_EQ(got[p].size(), expected[p].size());
    for (std::size_t i = 0; i < got[p].size(); ++i)
      EXPECT_NEAR(got[p][i], expected[p][i], 1e-5) << p << " " << i;
  }
}

TEST(SimulatedLayers, FewBitsInTheSumsChangeTheResult) {
  const Network network = parse_network(kSimulatedNetwork, "test");
  TapeUnderTest plain(network, 3);
  TapeUnderTest simulated(network, 3, accumulating("e5m2", SumMethod::separate));
  plain.run();
  simulated.run();
  EXPECT_NE(plain.gradients(), simulated.gradients());
}

TEST(SimulatedLayers, StochasticSumsDoNotDependOnTheNumberOfThreads) {
  const Network network = parse_network(kSimulatedNetwork, "test");
  std::vector<std::vector<float>> first;
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    TapeUnderTest tape(network, 9, accumulating("e6m9", SumMethod::separate, "stochastic"));
    tape.run();
    if (first.empty()) first = tape.gradients();
    EXPECT_EQ(tape.gradients(), first);
  }
  set_thread_count(0);
}

}  // namespace
}  // namespace nibble::inline float_training
