// SPDX-License-Identifier: Apache-2.0
// The graph of a step against what really crosses, and one hash of the weights wherever they were
// made.
#include "placement/step_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "core/hash.h"
#include "graph/normalized_product.h"
#include "integer_step/integer_session_test_support.h"
#include "integer_step/test_random_train_network.h"
#include "nibble/core/parallel.h"
#include "placement/placement_test_support.h"
#include "placement/step_trial.h"

namespace nibble::inline placement {
namespace {

using Crossings = std::multiset<std::pair<std::string, std::int64_t>>;

IntegerOptions options_for(const Network& network) {
  IntegerOptions options;
  if (has_batch_norm(network)) options.update = kSgdOfTests;
  return options;
}

StepGraph graph_of(const Network& network, std::int64_t images) {
  const IntegerTape tape(network, {}, Placement(make_backend("cpu")));
  return step_graph(network, tape, images);
}

Backends two(std::string_view second) {
  return {make_backend("cpu"), make_backend(second)};
}

Crossings planned(const StepGraph& graph, const Sides& sides) {
  Crossings crossings;
  for (const Flow& flow : graph.flows) {
    if (crosses(flow, sides)) crossings.insert({flow.tensor, flow.bytes});
  }
  return crossings;
}

std::set<StepUnit> units_of(const StepGraph& graph) {
  std::set<StepUnit> units;
  for (const PlacedUnit& each : graph.units) units.insert(each.unit);
  return units;
}

class SeenUnits final : public StepWatcher {
 public:
  void begin(StepUnit unit, IntegerBackend&) override { units.insert(unit); }
  void end(StepUnit, IntegerBackend&) override {}
  std::set<StepUnit> units;
};

void expect_what_crosses(const Network& network, std::uint64_t seed, int tries) {
  constexpr std::int64_t kImages = 5;
  Draws draws(seed);
  const StepGraph graph = graph_of(network, kImages);
  for (int i = 0; i < tries; ++i) {
    const Sides sides = random_sides(graph, draws);
    StepTrial trial(network, options_for(network), kImages,
                    placement_of_sides(network, graph, sides, two("cpu")));
    trial.step();
    Crossings seen;
    SeenUnits units;
    trial.tape().set_watcher(&units);
    trial.tape().placement().wire().set_observer([&](const Crossing& crossing, bool is_done) {
      if (is_done) seen.insert({crossing.tensor, crossing.bytes});
    });
    trial.step();
    EXPECT_EQ(seen, planned(graph, sides));
    EXPECT_EQ(units.units, units_of(graph));
  }
}

Network named(std::string_view name) {
  for (const NamedNetwork& each : named_networks()) {
    if (each.name == name) return parse_network(each.toml, each.name);
  }
  throw Error("test", "network", name, "one of the tree");
}

TEST(StepGraph, SaysWhatCrosses) {
  for (const std::string_view name : {"convnet-8x8", "mlp-64-32-10", "lenet"}) {
    SCOPED_TRACE(name);
    expect_what_crosses(named(name), 3, 4);
  }
}

TEST(StepGraph, SaysWhatCrossesInNetworksByChance) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const Network network = parse_network(RandomTrainNetwork(seed).toml(), "by chance");
    if (!has_form(network)) continue;
    expect_what_crosses(network, seed, 3);
    ++tried;
  }
  EXPECT_GT(tried, 15);
}

std::uint64_t hash_after(const Network& network, Placement placement, int steps,
                         std::int64_t images) {
  IntegerSession session(network, options_for(network), nullptr, std::move(placement));
  run_steps(session, steps, images);
  std::vector<std::int8_t> all;
  for (const std::vector<std::int8_t>& each : weights_of(session))
    all.insert(all.end(), each.begin(), each.end());
  return hash_of(std::as_bytes(std::span(all)));
}

void expect_one_hash(const Network& network, int placements, std::string_view second, int steps,
                     std::int64_t images) {
  set_thread_count(1);
  const StepGraph graph = graph_of(network, images);
  const std::uint64_t wanted = hash_after(network, Placement(make_backend("cpu")), steps, images);
  EXPECT_EQ(hash_after(network, Placement(make_backend(second)), steps, images), wanted);
  Draws draws(7);
  for (int i = 0; i < placements; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(
        hash_after(network,
                   placement_of_sides(network, graph, random_sides(graph, draws), two(second)),
                   steps, images),
        wanted);
  }
}

TEST(Placements, FiftyByChanceGiveTheDigitsOneHash) {
  expect_one_hash(named("convnet-8x8"), 50, "reference", 3, 8);
}

// One that works on while the host goes on.
TEST(Placements, ByChanceOnADeviceThatRunsAheadGiveOneHash) {
  expect_one_hash(named("convnet-8x8"), 20, "pretend", 3, 8);
  expect_one_hash(named("resnet20"), 2, "pretend", 1, 2);
}

TEST(Placements, FiftyByChanceGiveLenetOneHash) {
  expect_one_hash(named("lenet"), 50, "cpu", 2, 3);
  expect_one_hash(named("lenet"), 2, "reference", 1, 2);
}

}  // namespace
}  // namespace nibble::inline placement
