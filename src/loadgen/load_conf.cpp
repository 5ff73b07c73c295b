// SPDX-License-Identifier: Apache-2.0
// Lines "benchmark.scenario.key = value", of which LoadGen takes the last and the most exact.
#include "loadgen/load_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

// What TestSettings::FromConfig looks up in a user's file, without what language models need.
constexpr std::array<std::string_view, 19> kKeys = {"accuracy_log_rng_seed",
                                                    "accuracy_log_sampling_target",
                                                    "accuracy_sample_count_override",
                                                    "coalesce_queries",
                                                    "max_async_queries",
                                                    "max_duration",
                                                    "max_query_count",
                                                    "min_duration",
                                                    "min_query_count",
                                                    "mode",
                                                    "performance_issue_same",
                                                    "performance_issue_same_index",
                                                    "performance_issue_unique",
                                                    "performance_sample_count_override",
                                                    "print_timestamps",
                                                    "sample_concatenate_permutation",
                                                    "samples_per_query",
                                                    "target_latency",
                                                    "target_latency_percentile"};

bool is_key(std::string_view key) {
  return key == "target_qps" || std::ranges::find(kKeys, key) != kKeys.end();
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

LoadConf::LoadConf(std::string text, std::string benchmark, Scenario scenario)
    : text_(std::move(text)), benchmark_(std::move(benchmark)), scenario_(name_of(scenario)) {
  if (!text_.empty() && text_.back() != '\n') text_ += '\n';
}

void LoadConf::set(std::string_view setting) {
  const std::size_t middle = setting.find('=');
  const std::string_view key = setting.substr(0, middle);
  if (!is_key(key)) {
    throw Error("loadgen", "setting", fmt::format("'{}'", key),
                fmt::format("target_qps, {}", fmt::join(kKeys, ", ")));
  }
  const std::string_view value = middle == std::string_view::npos ? "" : setting.substr(middle + 1);
  if (!is_number(value)) {
    throw Error("loadgen", fmt::format("setting '{}'", key), fmt::format("'{}'", value),
                "KEY=NUMBER");
  }
  text_ += fmt::format("{}.{}.{} = {}\n", benchmark_, scenario_, key, value);
}

void LoadConf::set(std::string_view key, double value) {
  set(fmt::format("{}={}", key, value));
}

bool LoadConf::has(std::string_view key) const {
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    std::string word;
    std::istringstream(line) >> word;
    for (const std::string& benchmark : {benchmark_, std::string("*")}) {
      for (const std::string& scenario : {scenario_, std::string("*")}) {
        if (word == fmt::format("{}.{}.{}", benchmark, scenario, key)) return true;
      }
    }
  }
  return false;
}

}  // namespace nibble::inline loadgen
