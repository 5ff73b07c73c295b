// SPDX-License-Identifier: Apache-2.0
// MLPerf's compliance tests, on finished runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace nibble::inline loadgen {

struct Compliance {
  bool has_passed = false;
  std::string text;  // one line
};

// TEST01: the answers that a performance run logged under TEST01's audit.config are those of the
// accuracy run, and it was not slower than the performance run by more than 10 %.
Compliance test01(const std::filesystem::path& accuracy, const std::filesystem::path& performance,
                  const std::filesystem::path& audit);

// TEST04: a run on one sample again and again (performance_issue_same) is not faster than the
// performance run by more than 10 %: nothing is remembered.
Compliance test04(const std::filesystem::path& performance, const std::filesystem::path& same);

}  // namespace nibble::inline loadgen
