// SPDX-License-Identifier: Apache-2.0
#include "placement/cost_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/test_support.h"
#include "nibble/graph/network_text.h"
#include "placement/integer_work.h"
#include "run_folder/provenance.h"

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
  EXPECT_TRUE(is_taken([](StepCosts& costs) { costs.crowded = 1250; }));
  for (const char* other : {"1250.5", "1e300", "true"}) {
    std::string text = folder.content_of("placement.json");
    std::ofstream(path) << text.replace(text.find("1250"), 4, other);
    EXPECT_FALSE(cached_costs(path, "a", "work", 1)) << other;
    EXPECT_TRUE(is_taken([](StepCosts& costs) { costs.crowded = 1250; }));
  }
  std::ofstream(path) << R"({"a": 7})";
  EXPECT_FALSE(cached_costs(path, "a", "work", 1));
  EXPECT_TRUE(is_taken([](StepCosts&) {}));
}

// One name for each, among all others.
TEST(CostCache, NamesTellAllApartThatChangesTheWork) {
  const Network network = parse_network(named_networks()[0].toml, "n");
  const Network other = parse_network(named_networks()[1].toml, "n");
  std::multiset<std::string> names = {work_name(network, {}, 8), work_name(network, {}, 9),
                                      work_name(other, {}, 8)};
  const auto add = [&](const auto& change) {
    IntegerOptions options;
    change(options);
    names.insert(work_name(network, options, 8));
  };
  const auto add_update = [&](const auto& rule) {
    add([&](IntegerOptions& options) { options.update = rule; });
  };
  add([](IntegerOptions& options) { options.rule = ShiftRule::delayed; });
  add([](IntegerOptions& options) { options.form = CrossEntropyForm::whole_octaves; });
  add([](IntegerOptions& options) { options.statistics = FrozenStatistics::running; });
  add([](IntegerOptions& options) { options.frozen = {"a"}; });
  add([](IntegerOptions& options) { options.roundings.all.value = ShiftRounding::stochastic; });
  add([](IntegerOptions& options) { options.roundings.all.error = ShiftRounding::stochastic; });
  add([](IntegerOptions& options) { options.roundings.all.gradient = ShiftRounding::nearest; });
  add([](IntegerOptions& options) { options.roundings.layers = {{"a", {}}}; });
  add([](IntegerOptions& options) {
    options.roundings.layers = {{"a", {.error = ShiftRounding::stochastic}}};
  });
  add_update(ShiftUpdate{.fraction_bits = 8});
  add_update(ShiftUpdate{.momentum = 12});
  add_update(ShiftUpdate{.has_decay = true});
  add_update(SgdUpdate{});
  add_update(SgdUpdate{.momentum = 0});
  add_update(SgdUpdate{.fraction_bits = 8});
  add_update(SgdUpdate{.decay = {.mantissa = 1, .exponent = -20}});
  add_update(SgdUpdate{.has_norm_decay = true});
  add_update(SgdUpdate{.looks_ahead = true});
  for (const std::string& each : names) EXPECT_EQ(names.count(each), 1U) << each;
}

TEST(CostCache, NamesLeaveOutWhatIsNoWork) {
  const Network network = parse_network(named_networks()[0].toml, "n");
  const std::string wanted = work_name(network, {}, 8);
  EXPECT_EQ(work_name(network, {.seed = 7, .update = ShiftUpdate{.mu = 3}}, 8), wanted);
  EXPECT_EQ(work_name(network, {.device = "reference", .place = "a=cpu"}, 8), wanted);
}

TEST(CostCache, FingerprintsTellDevicesTheirSettingsAndThisBuild) {
  const auto of_pretend = [](const char* settings) {
    const ScopedVariable pretend("NIBBLE_PRETEND", settings);
    return hardware_fingerprint({"cpu", make_backend("pretend")->identity()});
  };
  const std::set<std::string> all = {hardware_fingerprint({"cpu", "reference"}),
                                     hardware_fingerprint({"cpu", "cpu"}), of_pretend("slowdown=2"),
                                     of_pretend("copy_us=20")};
  EXPECT_EQ(all.size(), 4U);
  EXPECT_EQ(of_pretend("copy_us=20"), of_pretend("copy_us=20"));
  EXPECT_NE(make_backend("check(cpu,pretend)")->identity(), "check(cpu,pretend)");
  for (const std::string& each : all) EXPECT_TRUE(each.starts_with(build_identity() + ";")) << each;
}

}  // namespace
}  // namespace nibble::inline placement
