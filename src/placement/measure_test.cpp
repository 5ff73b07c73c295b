// SPDX-License-Identifier: Apache-2.0
// Copies through every kind of host memory, of a device that has all of them on every machine.
#include "placement/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"
#include "placement/one_hash_test_support.h"

namespace nibble::inline placement {
namespace {

constexpr std::string_view kWiredNetwork = R"(
input = [6, 6, 2]
layers = [
  { op = "conv2d", name = "conv1", channels = 4, kernel = 3, padding = 1 },
  { op = "relu", name = "relu1" },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 5 },
  { op = "softmax_cross_entropy" },
])";
constexpr std::array kWireKinds = {WireKind::pinned, WireKind::pageable, WireKind::mapped};

class Wires : public testing::TestWithParam<WireKind> {
 protected:
  Wires() { set_thread_count(1); }
  ~Wires() override { set_thread_count(0); }

  // A device whose copies go through the kind of this test.
  static Backends with_wire() {
    Backends backends = two("pretend");
    EXPECT_TRUE(backends[1]->use_wire(GetParam()));
    return backends;
  }

  static constexpr std::int64_t kImages = 4;
  const Network network_ = parse_network(kWiredNetwork, "wired");
  const StepGraph graph_ = graph_of(network_, kImages);
};

TEST_P(Wires, AreAllMeasuredAndStepsCostWhatTheOneInUseTakes) {
  const ScopedVariable pace(
      "NIBBLE_PRETEND", "pinned_us=1500,mapped_us=3000,pageable_us=6000,pageable_ps_a_byte=30000");
  // A copy may take longer on a busy machine, never less, and each is above those of the kind
  // before.
  const std::map<WireKind, Nanoseconds> least = {{WireKind::pinned, 1'100'000},
                                                 {WireKind::mapped, 2'200'000},
                                                 {WireKind::pageable, 4'400'000}};
  const Backends backends = with_wire();
  const StepCosts costs = measure_step(network_, {}, kImages, backends).costs;
  EXPECT_EQ(backends[1]->wire(), GetParam());
  EXPECT_EQ(costs.wire, GetParam());
  std::map<WireKind, std::array<LinkCost, 2>> found;
  for (const WireCost& each : costs.wires) found[each.kind] = each.links;
  ASSERT_EQ(costs.wires.size(), kWireKinds.size());
  ASSERT_EQ(found.size(), kWireKinds.size());
  EXPECT_EQ(costs.links, found[GetParam()]);
  for (std::size_t from = 0; from < 2; ++from) {
    for (const auto& [kind, links] : found)
      EXPECT_GT(links[from].latency, least.at(kind)) << name_of(kind);
    if (!kIsSanitized) {
      EXPECT_LT(2 * found[WireKind::pinned][from].picoseconds_a_byte,
                found[WireKind::pageable][from].picoseconds_a_byte);
    }
  }
  // Of values and errors that were seen to cross, too; weights have a way of their own, and what
  // goes through mapped memory takes the device's time, in which a busy machine hides it.
  if (GetParam() == WireKind::mapped) return;
  for (std::size_t flow = 0; flow < graph_.flows.size(); ++flow) {
    const std::string& tensor = graph_.flows[flow].tensor;
    if (tensor.ends_with(".value") || tensor.ends_with(".error")) {
      EXPECT_GT(costs.copy(graph_, flow, 0).sum(), least.at(GetParam()) / 4) << tensor;
    }
  }
}

TEST_P(Wires, GiveOneHash) {
  const Backends backends = with_wire();
  const std::uint64_t wanted = hash_after(network_, Placement(backends[0]), 3, kImages);
  Draws draws(9);
  for (int i = 0; i < 4; ++i) {
    const Sides sides = random_sides(graph_, draws);
    const Placement placement = placement_of_sides(network_, graph_, sides, backends);
    EXPECT_EQ(hash_after(network_, placement, 3, kImages), wanted) << i;
  }
}

// The host's time goes into pageable copies, the device's into mapped memory.
TEST_P(Wires, AreWaitedForWhereTheyMust) {
  constexpr std::int64_t kCopy = 20'000'000;  // nanoseconds
  const ScopedVariable pace("NIBBLE_PRETEND", "copy_us=20000");
  const Backends backends = with_wire();
  Sides sides = all_on(graph_, 0);
  for (std::size_t i = 0; i < sides.size(); ++i) sides[i] = graph_.units[i].node == "relu1";
  IntegerSession session(network_, options_for(network_), nullptr,
                         placement_of_sides(network_, graph_, sides, backends));
  run_steps(session, 1, kImages);
  StepTrace trace;
  session.tape().set_trace(&trace);
  run_steps(session, 1, kImages);
  session.tape().set_trace(nullptr);
  std::map<std::string, std::int64_t> longest;  // by track and name
  for (const TraceSpan& each : trace.spans()) {
    std::int64_t& length = longest[each.track + ": " + each.name];
    length = std::max(length, each.end - each.begin);
    if (each.details.contains("memory")) {
      EXPECT_EQ(each.details.at("memory"), name_of(GetParam()));
    }
  }
  const bool is_mapped = GetParam() == WireKind::mapped;
  EXPECT_EQ(longest.contains("pretend copies up: send conv1.value"), !is_mapped);
  EXPECT_EQ(longest.contains("pretend copies down: send relu1.value"), !is_mapped);
  EXPECT_EQ(longest["pretend: bring in conv1.value"] >= kCopy, is_mapped);
  EXPECT_EQ(longest["pretend: send relu1.value"] >= kCopy, is_mapped);
  const bool is_held = GetParam() == WireKind::pageable;
  for (const char* send : {"host: send conv1.value", "host: send relu1.value"})
    EXPECT_EQ(longest[send] >= kCopy, is_held) << send;
}

INSTANTIATE_TEST_SUITE_P(Measured, Wires, testing::ValuesIn(kWireKinds),
                         [](const auto& wire) { return std::string(name_of(wire.param)); });

}  // namespace
}  // namespace nibble::inline placement
