// SPDX-License-Identifier: Apache-2.0
// What LoadGen found, from its detailed log.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

inline constexpr std::string_view kDetailLog = "mlperf_log_detail.txt";
inline constexpr std::string_view kAccuracyLog = "mlperf_log_accuracy.json";

struct LoadResult {
  std::optional<bool> is_valid;           // none: only accuracy was asked for
  std::string reason;                     // why it is not valid, in one line
  std::map<std::string, double> figures;  // "samples_per_second", "90.00_percentile_latency_ns", …
  int errors = 0;                         // that LoadGen logged
  std::string obstacle = {};              // why it cannot be submitted; empty: it may

  // The settings that held.
  std::string scenario_name = {};
  double latency_bound_ns = 0;  // of Server
  bool has_one_sample = false;  // again and again (performance_issue_same)

  // Work a second: where the figure of a scenario is a latency, its inverse.
  std::optional<double> speed() const;
  std::optional<double> figure(const std::string& name) const;

  // What compliance tests compare: samples a second, of streams LoadGen's early-stopping estimate
  // of the latency in nanoseconds.
  std::optional<double> score(Scenario scenario) const;

  // The figure that counts in the scenario, in words: "5912.3 samples/s".
  std::string headline(Scenario scenario) const;
};

// Lines ":::MLLOG {…}"; of a submission run, which has two parts, those of the last count.
LoadResult parse_detail_log(std::string_view text, const std::string& name);
LoadResult read_load_result(const std::filesystem::path& folder);

}  // namespace nibble::inline loadgen
