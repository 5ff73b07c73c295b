// SPDX-License-Identifier: Apache-2.0
// The bounds of a run, and its settings beside those of mlperf.conf.
#include "loadgen/harness/load_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline loadgen {
namespace {

using mlperf::TestScenario;

// Beyond these the times between queries fit no 64 bits of nanoseconds.
constexpr double kLeastRate = 1e-6;
constexpr double kMostRate = 1e12;
// Of LoadGen's lists, rather more than they take.
constexpr double kBytesAQuery = 1024;
constexpr double kBytesASample = 64;
constexpr double kMostBytes = 1e18;

void check_rate(double rate) {
  if (rate >= kLeastRate && rate <= kMostRate) return;
  throw Error("loadgen", "expected queries a second (target_qps, target_latency)",
              fmt::format("{:g}", rate), fmt::format("{:g} to {:g}", kLeastRate, kMostRate),
              ErrorKind::input);
}

// LoadGen makes all queries of a run before its first.
void check_memory(const mlperf::TestSettings& settings, double rate) {
  const double seconds = 1e-3 * static_cast<double>(settings.min_duration_ms);
  const double more = settings.scenario == TestScenario::Server ? 1 : 2;  // than are expected
  const double queries =
      std::max(static_cast<double>(settings.min_query_count), more * seconds * rate);
  const bool is_offline = settings.scenario == TestScenario::Offline;  // one query of all samples
  const double samples =
      queries * (settings.scenario == TestScenario::MultiStream
                     ? static_cast<double>(settings.multi_stream_samples_per_query)
                     : 1.0);
  const double bytes = samples * kBytesASample + (is_offline ? 1 : queries) * kBytesAQuery;
  check_limit("memory", static_cast<std::int64_t>(std::min(bytes, kMostBytes)), "loadgen",
              "bytes of all queries (min_query_count, min_duration, target_qps)");
}

void check_same_index(const mlperf::TestSettings& settings, std::size_t samples) {
  const std::size_t some = settings.performance_sample_count_override;
  const std::size_t loaded = some == 0 ? samples : std::min(samples, some);
  if (!settings.performance_issue_same || settings.performance_issue_same_index < loaded) return;
  throw Error("loadgen", "performance_issue_same_index",
              std::to_string(settings.performance_issue_same_index),
              fmt::format("less than {}, the samples that are loaded", loaded), ErrorKind::input);
}

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

mlperf::TestScenario official_scenario(Scenario scenario) {
  switch (scenario) {
    case Scenario::single_stream:
      return mlperf::TestScenario::SingleStream;
    case Scenario::multi_stream:
      return mlperf::TestScenario::MultiStream;
    case Scenario::server:
      return mlperf::TestScenario::Server;
    case Scenario::offline:
      break;
  }
  return mlperf::TestScenario::Offline;
}

double expected_rate(const mlperf::TestSettings& settings) {
  switch (settings.scenario) {
    case TestScenario::Offline:
      return settings.offline_expected_qps;
    case TestScenario::Server:
      return settings.server_target_qps;
    case TestScenario::SingleStream:
      return 1e9 / settings.single_stream_expected_latency_ns;
    case TestScenario::MultiStream:
      break;
  }
  return 1e9 / settings.multi_stream_expected_latency_ns;
}

void check_settings(const mlperf::TestSettings& settings, std::size_t samples) {
  const double rate = expected_rate(settings);
  check_rate(rate);
  check_memory(settings, rate);
  check_same_index(settings, samples);
}

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
