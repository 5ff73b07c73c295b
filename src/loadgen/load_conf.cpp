// SPDX-License-Identifier: Apache-2.0
// Lines "benchmark.scenario.key = value", of which LoadGen takes the last and the most exact.
#include "loadgen/load_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

constexpr double kMost = 1e12;      // in milliseconds thirty years; LoadGen multiplies by 10^6
constexpr double kMostSeed = 2e19;  // all of 64 bits
constexpr std::string_view kNotOffline = "Server, SingleStream, MultiStream";

struct Key {
  std::string_view name;
  double least = 0;
  double most = kMost;
  std::string_view scenarios = "";  // in which LoadGen looks it up; empty: in all
};

constexpr std::string_view kMode = "mode";  // of an audit.config; else an option of ours decides

// What TestSettings::FromConfig looks up in a user's file, without what language models need.
constexpr std::array<Key, 19> kKeys = {{{"target_qps", 0, kMost, "Offline, Server"},
                                        {"accuracy_log_rng_seed", 0, kMostSeed},
                                        {"accuracy_log_sampling_target"},
                                        {"accuracy_sample_count_override"},
                                        {"coalesce_queries", 0, kMost, "Server"},
                                        {"max_async_queries", 0, kMost, "Server"},
                                        {"max_duration"},
                                        {"max_query_count"},
                                        {"min_duration"},
                                        {"min_query_count"},
                                        {"performance_issue_same"},
                                        {"performance_issue_same_index"},
                                        {"performance_issue_unique"},
                                        {"performance_sample_count_override", 0, 1 << 24},
                                        {"print_timestamps"},
                                        {"sample_concatenate_permutation"},
                                        {"samples_per_query", 1, 65536, "MultiStream"},
                                        {"target_latency", 0, kMost, kNotOffline},
                                        {"target_latency_percentile", 0, 100, kNotOffline}}};

const Key* find_key(std::string_view name) {
  const auto* found = std::ranges::find(kKeys, name, &Key::name);
  return found == kKeys.end() ? nullptr : found;
}

const Key& known_key(const std::string& where, std::string_view name) {
  if (const Key* key = find_key(name)) return *key;
  std::string names;
  for (const Key& each : kKeys) names += (names.empty() ? "" : ", ") + std::string(each.name);
  throw Error("loadgen", where, fmt::format("'{}'", name), names, ErrorKind::input);
}

void check_scenario(const std::string& where, const Key& key, const std::string& scenario) {
  if (key.scenarios.empty() || key.scenarios.find(scenario) != std::string_view::npos) return;
  throw Error("loadgen", fmt::format("{} '{}'", where, key.name), scenario,
              fmt::format("{}: LoadGen overlooks it elsewhere", key.scenarios), ErrorKind::input);
}

// Of what LoadGen does not read as a floating-point number it takes the digits in front: 1e3 is 1
// to it, -1 is 2^64 - 1.
bool is_real(const Key& key, const std::string& scenario) {
  return key.name == "target_qps" || key.name == "target_latency_percentile" ||
         (key.name == "target_latency" && scenario != name_of(Scenario::server));
}

void check_value(const std::string& where, const Key& key, const std::string& scenario,
                 const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const bool is_read = is_real(key, scenario) ||
                       static_cast<double>(std::strtoull(text.c_str(), nullptr, 0)) == value;
  if (is_number && std::isfinite(value) && is_read && value >= key.least && value <= key.most)
    return;
  throw Error("loadgen", fmt::format("{} '{}'", where, key.name), fmt::format("'{}'", text),
              fmt::format("a {}number from {} to {:g}", is_real(key, scenario) ? "" : "whole ",
                          key.least, key.most),
              ErrorKind::input);
}

}  // namespace

LoadConf::LoadConf(std::string text, std::string benchmark, Scenario scenario)
    : text_(std::move(text)), benchmark_(std::move(benchmark)), scenario_(name_of(scenario)) {
  if (!text_.empty() && text_.back() != '\n') text_ += '\n';
}

void LoadConf::set(std::string_view setting) {
  const std::size_t middle = setting.find('=');
  const std::string_view name = setting.substr(0, middle);
  const Key& key = known_key("setting", name);
  check_scenario("setting", key, scenario_);
  const std::string value(middle == std::string_view::npos ? "" : setting.substr(middle + 1));
  check_value("setting", key, scenario_, value);
  text_ += fmt::format("{}.{}.{} = {}\n", benchmark_, scenario_, name, value);
}

void LoadConf::set(std::string_view key, double value) {
  set(fmt::format("{}={}", key, value));
}

std::vector<LoadConf::Line> LoadConf::lines() const {
  std::vector<Line> found;
  std::istringstream text(text_);
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line);
    Line each{.number = number, .benchmark = {}, .scenario = {}, .key = {}, .values = {}};
    std::string equals;
    words >> each.key >> equals;
    if (each.key.starts_with('#') || equals != "=") continue;
    for (std::string value; words >> value;) each.values.push_back(value);
    if (each.values.empty()) continue;
    const std::size_t last = each.key.rfind('.');  // benchmarks have dots, too
    const std::size_t middle = last == 0 ? last : each.key.rfind('.', last - 1);
    if (last != std::string::npos && middle != std::string::npos && middle < last) {
      each.benchmark = each.key.substr(0, middle);
      each.scenario = each.key.substr(middle + 1, last - middle - 1);
      each.key.erase(0, last + 1);
    }
    found.push_back(std::move(each));
  }
  return found;
}

bool LoadConf::counts(const Line& line) const {
  return (line.benchmark == benchmark_ || line.benchmark == "*") &&
         (line.scenario == scenario_ || line.scenario == "*");
}

bool LoadConf::has(std::string_view key) const {
  const std::vector<Line> all = lines();
  return std::ranges::any_of(all,
                             [&](const Line& line) { return counts(line) && line.key == key; });
}

void LoadConf::check_line(const std::string& where, const Line& line) const {
  if (line.benchmark.empty()) {
    throw Error("loadgen", where, fmt::format("'{}'", line.key), "BENCHMARK.SCENARIO.KEY",
                ErrorKind::input);
  }
  if (line.benchmark != benchmark_ && line.benchmark != "*") return;
  if (line.scenario != "*") {
    try {
      (void)parse_scenario(line.scenario);
    } catch (const Error&) {
      throw Error("loadgen", where, fmt::format("'{}'", line.scenario), "a scenario, or *",
                  ErrorKind::input);
    }
  }
  if (!counts(line) || line.key == kMode) return;
  const Key& key = known_key(where, line.key);
  if (line.scenario != "*") check_scenario(where + ":", key, scenario_);
  for (const std::string& value : line.values) check_value(where + ":", key, scenario_, value);
}

void LoadConf::check(const std::string& name) const {
  for (const Line& line : lines()) check_line(fmt::format("{} line {}", name, line.number), line);
}

}  // namespace nibble::inline loadgen
