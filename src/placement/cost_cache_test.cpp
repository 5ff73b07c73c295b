// SPDX-License-Identifier: Apache-2.0
#include "placement/cost_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "core/test_support.h"
#include "cuda/driver.h"
#include "nibble/cuda/device.h"
#include "nibble/graph/network_text.h"
#include "placement/integer_work.h"

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

TEST(CostCache, AbsurdEntriesAreAsGoodAsNone) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "placement.json";
  const StepCosts sane{.units = {{1, 2}},
                       .links = {LinkCost{3, 4}, LinkCost{5, 6}},
                       .copies = {{CopyCost{7, 8, 9, 10}, CopyCost{}}},
                       .asks = {{11, 12}},
                       .wakes = {13, 14},
                       .wires = {{WireKind::mapped, {LinkCost{}, LinkCost{}}}}};
  const auto is_taken = [&](const auto& change) {
    StepCosts costs = sane;
    change(costs);
    cache_costs(path, "a", "work", costs);
    return cached_costs(path, "a", "work", 1).has_value();
  };
  constexpr Nanoseconds kHuge = std::int64_t{1} << 62;
  EXPECT_TRUE(is_taken([](StepCosts&) {}));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.units[0][1] = kHuge; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.units[0][0] = -1; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.links[1].latency = kHuge; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.links[0].picoseconds_a_byte = kHuge; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.copies[0][0].arrive = -5; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.asks[0][0] = kHuge; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.wakes[1] = kHuge; }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.wire = static_cast<WireKind>(3); }));
  EXPECT_FALSE(is_taken([](StepCosts& costs) { costs.wires[0].kind = static_cast<WireKind>(9); }));
  std::ofstream(path) << R"({"a": 7})";
  EXPECT_FALSE(cached_costs(path, "a", "work", 1));
  EXPECT_TRUE(is_taken([](StepCosts&) {}));
}

TEST(CostCache, NamesTellBatchesAndDevicesApart) {
  const Network network = parse_network(named_networks()[0].toml, "n");
  EXPECT_NE(work_name(network, {}, 8), work_name(network, {}, 9));
  EXPECT_NE(work_name(network, {}, 8), work_name(network, {.frozen = {"a"}}, 8));
  EXPECT_NE(hardware_fingerprint({"cpu", "reference"}), hardware_fingerprint({"cpu", "cpu"}));
}

TEST(CostCache, NamesTellSettingsOfADeviceApart) {
  const std::array<std::string, 2> devices = {"cpu", "cuda"};
  const std::string usual = hardware_fingerprint(devices);
  std::set<std::string> all = {usual};
  for (const char* variable : {"NIBBLE_CUDA", "NIBBLE_CUDA_WIRE", "NIBBLE_CUDA_LIMITS"}) {
    const char* own = std::getenv(variable);
    const std::string before = own == nullptr ? "" : own;
    setenv(variable, "x", 1);
    all.insert(hardware_fingerprint(devices));
    own == nullptr ? unsetenv(variable) : setenv(variable, before.c_str(), 1);
  }
  EXPECT_EQ(all.size(), 4U);
  EXPECT_EQ(hardware_fingerprint(devices), usual);
  if (cuda::device_count() > 0) {
    EXPECT_NE(usual.find(cuda::identity_of(0)), std::string::npos) << usual;
  }
}

}  // namespace
}  // namespace nibble::inline placement
