// SPDX-License-Identifier: Apache-2.0
// Batch norm in whole networks: on every path and with any cut of the batch the same numbers.
#include <gtest/gtest.h>

#include "integer_step/integer_session_test_support.h"

namespace nibble::inline integer_step {
namespace {

IntegerOptions options_of(std::string_view device) {
  IntegerOptions options;
  options.update = kSgdOfTests;
  options.device = device;
  options.roundings.all.error = ShiftRounding::stochastic;
  return options;
}

TEST(BatchNormLayer, AgreesWithTheDefinitionsOnEveryPath) {
  const Network network = network_of(kNormedNetwork);
  on_every_path([&] {
    IntegerSession session(network, options_of(kBoth));
    EXPECT_NO_THROW(run_steps(session, 3, 19));
  });
}

TEST(BatchNormLayer, ScalesAndShiftsMove) {
  const Network network = network_of(kNormedNetwork);
  IntegerSession session(network, options_of("cpu"));
  run_steps(session, 4, 32);
  for (const TrainedTensor* each : session.tape().parameters()) {
    if (each->norm() == NormPart::none) continue;
    const std::int32_t first = each->norm() == NormPart::scale ? 1 << 16 : 0;
    const std::vector<std::int32_t> fine = each->read().fine;
    EXPECT_TRUE(std::ranges::any_of(fine, [&](std::int32_t x) { return x != first; }))
        << each->name();
  }
}

TEST(BatchNormLayer, WantsTheRuleThatCountsExponents) {
  const Network network = network_of(kNormedNetwork);
  EXPECT_THROW(IntegerSession(network, {}), Error);
}

// The layers of the network on the CPU and the definitions in turns.
TEST(BatchNormLayer, StaysOnTheDeviceOfItsProduct) {
  const Network network = network_of(kNormedNetwork);
  const std::shared_ptr<IntegerBackend> other = make_backend("reference");
  const auto placed = [&](std::string_view name) {
    Placement placement(make_backend("cpu"));
    const auto node = std::ranges::find(network.nodes, name, &Node::name);
    placement.place(static_cast<std::size_t>(node - network.nodes.begin()), TrainPass::forward,
                    other);
    return IntegerSession(network, options_of("cpu"), nullptr, std::move(placement));
  };
  EXPECT_THROW(placed("a"), Error);
  EXPECT_THROW(placed("an"), Error);
  IntegerSession apart = placed("r");
  IntegerSession alone(network, options_of("cpu"));
  run_steps(apart, 2, 8);
  run_steps(alone, 2, 8);
  EXPECT_EQ(fine_of(apart), fine_of(alone));
}

}  // namespace
}  // namespace nibble::inline integer_step
