// SPDX-License-Identifier: Apache-2.0
// A run's settings beside those of mlperf.conf.
#include "loadgen/harness/submission_rules.h"

#include <fmt/format.h>

#include <string_view>

namespace nibble::inline loadgen {
namespace {

constexpr double kNsAMs = 1e6;

class Rules {
 public:
  void check(bool is_kept, std::string_view key, double value, double rule) {
    if (is_kept) return;
    broken_ += fmt::format("{}{} is {}, mlperf.conf has {}", broken_.empty() ? "" : ", ", key,
                           value, rule);
  }
  void at_least(std::string_view key, double value, double rule) {
    check(value >= rule, key, value, rule);
  }
  void at_most(std::string_view key, double value, double rule) {
    check(value <= rule, key, value, rule);
  }
  void same(std::string_view key, double value, double rule) {
    check(value == rule, key, value, rule);
  }
  const std::string& broken() const { return broken_; }

 private:
  std::string broken_;
};

double as_number(auto value) {
  return static_cast<double>(value);
}

}  // namespace

std::string broken_rules(const mlperf::TestSettings& settings, const std::string& benchmark,
                         Scenario scenario) {
  mlperf::TestSettings official;
  official.FromConfig("", benchmark, std::string(name_of(scenario)), 0);  // mlperf.conf alone
  Rules rules;
  const auto at_least = [&](std::string_view key, auto value) {
    rules.at_least(key, as_number(settings.*value), as_number(official.*value));
  };
  const auto same = [&](std::string_view key, auto value) {
    rules.same(key, as_number(settings.*value), as_number(official.*value));
  };
  using Settings = mlperf::TestSettings;
  at_least("min_duration", &Settings::min_duration_ms);
  at_least("min_query_count", &Settings::min_query_count);
  at_least("performance_sample_count_override", &Settings::performance_sample_count_override);
  same("max_duration", &Settings::max_duration_ms);
  same("max_query_count", &Settings::max_query_count);
  same("performance_issue_same", &Settings::performance_issue_same);
  same("performance_issue_unique", &Settings::performance_issue_unique);
  same("sample_concatenate_permutation", &Settings::sample_concatenate_permutation);
  same("accuracy_sample_count_override", &Settings::accuracy_sample_count_override);
  same("accuracy_log_sampling_target", &Settings::accuracy_log_sampling_target);
  if (scenario == Scenario::server) {
    rules.at_most("target_latency", as_number(settings.server_target_latency_ns) / kNsAMs,
                  as_number(official.server_target_latency_ns) / kNsAMs);
    at_least("target_latency_percentile", &Settings::server_target_latency_percentile);
  }
  if (scenario == Scenario::single_stream)
    same("target_latency_percentile", &Settings::single_stream_target_latency_percentile);
  if (scenario == Scenario::multi_stream) {
    same("target_latency_percentile", &Settings::multi_stream_target_latency_percentile);
    same("samples_per_query", &Settings::multi_stream_samples_per_query);
  }
  return rules.broken();
}

}  // namespace nibble::inline loadgen
