// SPDX-License-Identifier: Apache-2.0
// The graph of a step against what really crosses, and one hash of the weights wherever they were
// made.
#include "placement/step_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "cluster/local.h"
#include "core/test_support.h"
#include "integer_step/test_random_train_network.h"
#include "placement/one_hash_test_support.h"

namespace nibble::inline placement {
namespace {

using Crossings = std::multiset<std::pair<std::string, std::int64_t>>;

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
    trial.tape().placement().wire().set_observer([&](const Flight& flight, Wire::Moment moment) {
      if (moment == Wire::Moment::arrived)
        seen.insert({flight.crossing.tensor, flight.crossing.bytes});
    });
    trial.step();
    EXPECT_EQ(seen, planned(graph, sides));
    EXPECT_EQ(units.units, units_of(graph));
  }
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

// With one process nobody waits for another one's shifts: what is planned is what runs.
TEST(StepGraph, HasTheUnitsOfAProcessThatIsAlone) {
  const Network network = named("lenet");
  IntegerSession session(network, options_for(network), &local_communicator());
  SeenUnits units;
  session.tape().set_watcher(&units);
  run_steps(session, 1, 2);
  EXPECT_EQ(units.units, units_of(graph_of(network, 2)));
}

// Convolutions on the device, with the batch norms that read their sums; all else on the host.
Sides convolutions_offloaded(const Network& network, const StepGraph& graph) {
  std::set<std::size_t> moved;
  for (std::size_t i = 0; i < graph.units.size(); ++i) {
    if (is<Conv2d>(network.nodes[graph.units[i].unit.node].op)) moved.insert(graph.group[i]);
  }
  Sides sides;
  for (const std::size_t group : graph.group) sides.push_back(moved.contains(group) ? 1 : 0);
  return sides;
}

// As the system does that copies everything in fp32 for every pass: (input, weight, output),
// (error, weight, input error), (error once for every input channel, input, gradient).
std::int64_t bytes_of_copying_all(const Network& network, std::int64_t images) {
  const std::vector<Picture> pictures = pictures_of(network);
  std::int64_t numbers = 0;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const auto* conv = std::get_if<Conv2d>(&network.nodes[i].op);
    if (conv == nullptr) continue;
    const Picture& from = pictures[network.nodes[i].inputs[0]];
    const std::int64_t in = images * from.elements();
    const std::int64_t out = images * pictures[i].elements();
    const std::int64_t weight = conv->channels * conv->kernel.y * conv->kernel.x * from.channels;
    numbers += (in + weight + out) + (out * from.channels + in + weight);
    if (from.channels > 3) numbers += out + weight + in;  // nobody wants the error of a picture
  }
  return 4 * numbers;
}

TEST(StepGraph, ErrorsAlonePass) {
  for (const Flow& flow : graph_of(named("resnet20"), 2).flows)
    EXPECT_EQ(flow.is_passing, flow.tensor.ends_with(".error")) << flow.tensor;
}

TEST(StepGraph, ConvolutionsOffloadedSendAFifteenthOfCopyingAll) {
  constexpr std::int64_t kImages = 32;
  for (const std::string_view name : {"resnet20", "resnet20-nobn"}) {
    const Network network = named(name);
    const StepGraph graph = graph_of(network, kImages);
    const std::int64_t sent = bytes_crossing(graph, convolutions_offloaded(network, graph));
    const std::int64_t all = bytes_of_copying_all(network, kImages);
    RecordProperty(std::string(name) + " bytes", std::to_string(sent));
    RecordProperty(std::string(name) + " bytes of copying all", std::to_string(all));
    EXPECT_GT(sent, 0);
    EXPECT_GE(all, 15 * sent) << name << ": " << sent << " of " << all;
  }
}

// The thread of a device and the host share the processors.
class Placements : public testing::Test {
 protected:
  Placements() { set_thread_count(1); }
};

TEST_F(Placements, FiftyByChanceGiveTheDigitsOneHash) {
  expect_one_hash(named("convnet-8x8"), kByChance, "reference", 3, 8);
}

TEST_F(Placements, FiftyByChanceGiveLenetOneHash) {
  expect_one_hash(named("lenet"), kByChance, "cpu", 2, 3);
  expect_one_hash(named("lenet"), 2, "reference", 1, 2);
}

TEST_F(Placements, ResumedUnderOthersGiveAllKindsOfNormsOneHash) {
  expect_one_hash_resumed(network_of(kNormedNetwork), 4, "pretend", 5);
}

}  // namespace
}  // namespace nibble::inline placement
