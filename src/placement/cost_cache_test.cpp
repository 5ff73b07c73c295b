// SPDX-License-Identifier: Apache-2.0
#include "placement/cost_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline placement {
namespace {

TEST(CostCache, KeepsCostsByMachineAndWork) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "new" / "placement.json";
  const StepCosts costs{.units = {{1, 2}, {3, 4}},
                        .links = {LinkCost{5, 6}, LinkCost{7, 8}},
                        .copies = {{CopyCost{9, 10, 11, 12}, CopyCost{}}},
                        .runs_ahead = {false, true},
                        .asks = {{13, 14}, {15, 16}},
                        .wakes = {0, 17},
                        .crowded = 1250,
                        .wire = WireKind::mapped,
                        .wires = {{WireKind::mapped, {LinkCost{5, 6}, LinkCost{7, 8}}}}};
  EXPECT_FALSE(cached_costs(path, "a", "work", 2));
  cache_costs(path, "a", "work", costs);
  cache_costs(path, "a", "other", {.units = {{9, 9}}, .links = {}});
  const auto found = cached_costs(path, "a", "work", 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->units, costs.units);
  EXPECT_EQ(found->links, costs.links);
  EXPECT_EQ(found->copies, costs.copies);
  EXPECT_EQ(found->runs_ahead, costs.runs_ahead);
  EXPECT_EQ(found->asks, costs.asks);
  EXPECT_EQ(found->wakes, costs.wakes);
  EXPECT_EQ(found->crowded, costs.crowded);
  EXPECT_EQ(found->wire, costs.wire);
  EXPECT_EQ(found->wires, costs.wires);
  EXPECT_FALSE(cached_costs(path, "b", "work", 2));
  EXPECT_FALSE(cached_costs(path, "a", "work", 3));
  std::ofstream(path) << R"({"a": {"work": {"units": "many"}}})";
  EXPECT_FALSE(cached_costs(path, "a", "work", 2));
  std::ofstream(path) << "no JSON";
  EXPECT_FALSE(cached_costs(path, "a", "work", 2));
  cache_costs(path, "a", "work", costs);
  EXPECT_TRUE(cached_costs(path, "a", "work", 2));
}

TEST(CostCache, NamesTellBatchesAndDevicesApart) {
  const Network network = parse_network(named_networks()[0].toml, "n");
  EXPECT_NE(work_name(network, {}, 8), work_name(network, {}, 9));
  EXPECT_NE(work_name(network, {}, 8), work_name(network, {.frozen = {"a"}}, 8));
  EXPECT_NE(hardware_fingerprint({"cpu", "reference"}), hardware_fingerprint({"cpu", "cpu"}));
}

}  // namespace
}  // namespace nibble::inline placement
