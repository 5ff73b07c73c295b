// SPDX-License-Identifier: Apache-2.0
// The bounds of a run.
#include "loadgen/harness/load_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

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

}  // namespace nibble::inline loadgen
