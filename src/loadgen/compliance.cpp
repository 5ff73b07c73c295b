// SPDX-License-Identifier: Apache-2.0
// Compares runs.
#include "loadgen/compliance.h"

#include <fmt/format.h>

#include "inference/accuracy_log.h"
#include "loadgen/load_result.h"
#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

constexpr double kTolerance = 0.1;

double speed_of(const std::filesystem::path& run) {
  if (const auto speed = read_load_result(run).speed()) return *speed;
  throw Error("loadgen", run.string(), "no figure of speed", "a performance run", ErrorKind::input);
}

}  // namespace

Compliance test01(const std::filesystem::path& accuracy, const std::filesystem::path& performance,
                  const std::filesystem::path& audit) {
  const LoggedClasses all = read_logged_classes(accuracy / kAccuracyLog);
  const LoggedClasses sampled = read_logged_classes(audit / kAccuracyLog);
  std::int64_t equal = 0;
  for (const auto& [index, classes] : sampled) {
    const auto found = all.find(index);
    if (found != all.end() && found->second == classes) ++equal;
  }
  const auto count = static_cast<std::int64_t>(sampled.size());
  const double ratio = speed_of(audit) / speed_of(performance);
  return {
      .has_passed = count > 0 && equal == count && ratio >= 1 - kTolerance,
      .text = fmt::format("{} of {} sampled answers are those of the accuracy run, speed {:.1f} "
                          "% of the performance run's",
                          equal, count, 100 * ratio)};
}

Compliance test04(const std::filesystem::path& performance, const std::filesystem::path& same) {
  const double ratio = speed_of(same) / speed_of(performance);
  return {.has_passed = ratio <= 1 + kTolerance,
          .text = fmt::format("one sample again and again: speed {:.1f} % of the performance run's",
                              100 * ratio)};
}

}  // namespace nibble::inline loadgen
