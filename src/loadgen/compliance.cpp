// SPDX-License-Identifier: Apache-2.0
// Compares runs.
#include "loadgen/compliance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "inference/accuracy_log.h"
#include "loadgen/load_result.h"
#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

constexpr double kTolerance = 0.1;
// Of latencies that are so short that the system's own mishaps count.
constexpr double kToleranceOfShort = 0.2;
constexpr double kShortNs = 200'000;
constexpr double kShortNsOfEight = 1'600'000;

struct ComparedRun {
  std::string name;
  LoadResult result;
  Scenario scenario = Scenario::offline;
  double score = 0;  // samples a second, or nanoseconds; 0: LoadGen could not tell
};

ComparedRun read_run(const std::filesystem::path& folder) {
  ComparedRun run{.name = folder.string(), .result = read_load_result(folder)};
  if (!run.result.is_valid) {
    throw Error("loadgen", run.name, "no figure of speed", "a performance run", ErrorKind::input);
  }
  if (run.result.scenario_name.empty()) {
    throw Error("loadgen", run.name, "a log that names no scenario", "LoadGen's own",
                ErrorKind::input);
  }
  run.scenario = parse_scenario(run.result.scenario_name);
  run.score = run.result.score(run.scenario).value_or(0);
  return run;
}

// A run beside the performance run, and whatever stands against comparing them.
struct ComparedRuns {
  ComparedRun reference;
  ComparedRun run;
  std::vector<std::string> obstacles = {};

  bool is_comparable() const {
    return reference.scenario == run.scenario && reference.score > 0 && run.score > 0;
  }
  bool has_latencies() const { return is_stream(reference.scenario); }
  double score_ratio() const { return run.score / reference.score; }
  double speed_ratio() const { return has_latencies() ? 1 / score_ratio() : score_ratio(); }
  double tolerance() const {
    if (!has_latencies()) return kTolerance;
    const bool is_one = reference.scenario == Scenario::single_stream;
    return reference.score <= (is_one ? kShortNs : kShortNsOfEight) ? kToleranceOfShort
                                                                    : kTolerance;
  }
  std::string against() const {
    return obstacles.empty() ? "" : fmt::format("; {}", fmt::join(obstacles, "; "));
  }
};

ComparedRuns compare(const std::filesystem::path& performance, const std::filesystem::path& other) {
  ComparedRuns found{.reference = read_run(performance), .run = read_run(other)};
  const auto& [reference, run, _] = found;
  for (const ComparedRun* each : {&reference, &run}) {
    if (!*each->result.is_valid)
      found.obstacles.push_back(fmt::format("{} is INVALID: {}", each->name, each->result.reason));
  }
  if (reference.scenario != run.scenario) {
    found.obstacles.push_back(fmt::format("{} is {}, {} is {}", reference.name,
                                          name_of(reference.scenario), run.name,
                                          name_of(run.scenario)));
  } else if (run.scenario == Scenario::server &&
             reference.result.latency_bound_ns != run.result.latency_bound_ns) {
    found.obstacles.push_back(fmt::format("latency bounds of {} and {} ms",
                                          1e-6 * reference.result.latency_bound_ns,
                                          1e-6 * run.result.latency_bound_ns));
  }
  if (reference.result.has_one_sample)
    found.obstacles.push_back(fmt::format("{} has one sample again and again", reference.name));
  return found;
}

}  // namespace

Compliance test01(const std::filesystem::path& accuracy, const std::filesystem::path& performance,
                  const std::filesystem::path& audit) {
  const ComparedRuns found = compare(performance, audit);
  const LoggedClasses all = read_logged_classes(accuracy / kAccuracyLog);
  const LoggedClasses sampled = read_logged_classes(audit / kAccuracyLog);
  std::int64_t equal = 0;
  for (const auto& [index, classes] : sampled) {
    const auto place = all.find(index);
    if (place != all.end() && place->second == classes) ++equal;
  }
  const auto count = static_cast<std::int64_t>(sampled.size());
  std::string text =
      fmt::format("{} of {} sampled answers are those of the accuracy run", equal, count);
  bool is_as_fast = false;
  if (found.is_comparable()) {
    const double ratio = found.score_ratio();
    const double tolerance = found.tolerance();
    is_as_fast = ratio >= 1 - tolerance && ratio <= 1 + tolerance;
    text += fmt::format(", {} {:.1f} % of the performance run's (within {:.0f} %)",
                        found.has_latencies() ? "latency" : "speed", 100 * ratio, 100 * tolerance);
  }
  return {.has_passed = count > 0 && equal == count && is_as_fast && found.obstacles.empty(),
          .text = text + found.against()};
}

Compliance test04(const std::filesystem::path& performance, const std::filesystem::path& same) {
  ComparedRuns found = compare(performance, same);
  if (!found.run.result.has_one_sample)
    found.obstacles.push_back(found.run.name + " was given more than one sample");
  std::string text = "one sample again and again";
  bool is_no_faster = false;
  if (found.is_comparable()) {
    is_no_faster = found.speed_ratio() < 1 + found.tolerance();
    text += fmt::format(": speed {:.1f} % of the performance run's (less than {:.0f})",
                        100 * found.speed_ratio(), 100 * (1 + found.tolerance()));
  }
  return {.has_passed = is_no_faster && found.obstacles.empty(), .text = text + found.against()};
}

}  // namespace nibble::inline loadgen
