// SPDX-License-Identifier: Apache-2.0
// One hash of the weights wherever they were made: for tests of placements on any two devices.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/test_support.h"
#include "graph/batch_norm.h"
#include "integer_step/choose_place.h"
#include "integer_step/integer_session_test_support.h"
#include "nibble/core/parallel.h"
#include "placement/integer_work.h"
#include "placement/placement_test_support.h"
#include "placement/step_trial.h"

namespace nibble::inline placement {

// Sanitizers see in a few placements all that they can.
inline constexpr int kByChance = kIsSanitized ? 4 : 50;
inline constexpr int kResumed = kIsSanitized ? 2 : 6;

inline Network named(std::string_view name) {
  for (const NamedNetwork& each : named_networks()) {
    if (each.name == name) return parse_network(each.toml, each.name);
  }
  throw Error("test", "network", name, "one of the tree");
}

inline IntegerOptions options_for(const Network& network) {
  IntegerOptions options;
  options.roundings.all.error = ShiftRounding::stochastic;
  if (has_batch_norm(network)) {
    options.update = kSgdOfTests;
    options.statistics = FrozenStatistics::running;
  }
  return options;
}

inline StepGraph graph_of(const Network& network, std::int64_t images) {
  const IntegerTape tape(network, {}, Placement(make_backend("cpu")));
  return step_graph(network, tape, images);
}

inline Backends two(std::string_view second) {
  return {make_backend("cpu"), make_backend(second)};
}

// Of all that a checkpoint has of weights and of batch norms.
inline std::uint64_t hash_of_weights(const IntegerSession& session) {
  Hasher hasher;
  for (const TrainedTensor* each : session.tape().parameters()) {
    const WeightsState state = each->read();
    const std::int32_t exponent = state.exponent;
    hasher.add(std::as_bytes(state.mantissas.as<std::int8_t>()));
    hasher.add(std::as_bytes(std::span(&exponent, 1)));
    hasher.add(std::as_bytes(std::span(state.fine)));
    hasher.add(std::as_bytes(std::span(state.momentum)));
  }
  for (const RunningStatistics& each : session.tape().running())
    hasher.add(std::as_bytes(std::span(each)));
  return hasher.value();
}

inline std::uint64_t hash_after(const Network& network, Placement placement, int steps,
                                std::int64_t images) {
  IntegerSession session(network, options_for(network), nullptr, std::move(placement));
  run_steps(session, steps, images);
  return hash_of_weights(session);
}

// Everything on the one, everything on the other, and placements by chance.
inline void expect_one_hash(const Network& network, int placements, std::string_view second,
                            int steps, std::int64_t images) {
  const StepGraph graph = graph_of(network, images);
  const std::uint64_t wanted = hash_after(network, Placement(make_backend("cpu")), steps, images);
  EXPECT_NE(hash_after(network, Placement(make_backend("cpu")), 0, images), wanted);
  EXPECT_EQ(hash_after(network, Placement(make_backend(second)), steps, images), wanted);
  const Backends backends = two(second);
  Draws draws(7);
  for (int i = 0; i < placements; ++i) {
    SCOPED_TRACE(i);
    const Sides sides = random_sides(graph, draws);
    EXPECT_EQ(
        hash_after(network, placement_of_sides(network, graph, sides, backends), steps, images),
        wanted);
  }
}

// What a checkpoint has of a session, into another one.
inline void hand_over(const IntegerSession& from, IntegerSession& to) {
  for (std::size_t i = 0; i < to.tape().parameters().size(); ++i)
    to.tape().parameters()[i]->write(from.tape().parameters()[i]->read());
  const std::vector<PointState> points = from.tape().point_states();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PlacedPoint& point = to.tape().points()[i];
    point.backend->set_point(point.point, points[i]);
  }
  to.tape().set_running(from.tape().running());
  to.set_loss_state(from.loss_state());
  to.set_steps(from.steps());
}

// Resumed again and again, each time under another placement.
inline void expect_one_hash_resumed(const Network& network, int placements, std::string_view second,
                                    std::int64_t images) {
  const StepGraph graph = graph_of(network, images);
  const Backends backends = two(second);
  const auto session_on = [&](Placement placement) {
    return std::make_unique<IntegerSession>(network, options_for(network), nullptr,
                                            std::move(placement));
  };
  auto alone = session_on(Placement(backends[0]));
  auto moved = session_on(Placement(backends[1]));
  Draws draws(11);
  for (int i = 0; i < placements; ++i) {
    run_steps(*alone, 2, images);
    run_steps(*moved, 2, images);
    EXPECT_EQ(hash_of_weights(*moved), hash_of_weights(*alone)) << i;
    auto next =
        session_on(placement_of_sides(network, graph, random_sides(graph, draws), backends));
    hand_over(*moved, *next);
    moved = std::move(next);
  }
}

// Under the rules of each placement that auto would try, as a run reads them.
inline void expect_one_hash_of_auto(const Network& network, std::string_view second, int steps,
                                    std::int64_t images) {
  const PlanRequest request{
      .devices = {"cpu", std::string(second)}, .images = images, .uses_cache = false};
  IntegerOptions options = options_for(network);
  const StepPlan plan = plan_step(network, options, request);
  EXPECT_GE(plan.candidates.size(), 2U);
  testing::Test::RecordProperty("candidates", static_cast<int>(plan.candidates.size()));
  const std::uint64_t wanted = hash_after(network, Placement(make_backend("cpu")), steps, images);
  for (const PlanCandidate& each : plan.candidates) {
    choose_place(rules_of(network, plan.graph, each.sides, plan.devices), options);
    IntegerSession session(network, options);
    run_steps(session, steps, images);
    EXPECT_EQ(hash_of_weights(session), wanted) << each.name;
  }
}

}  // namespace nibble::inline placement
