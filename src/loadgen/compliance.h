// SPDX-License-Identifier: Apache-2.0
// MLPerf's compliance tests, on finished runs: what its scripts ask for, and a little more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace nibble::inline loadgen {

struct Compliance {
  bool has_passed = false;
  std::string text;  // one line
};

// Both compare a run with the performance run: each valid, in one scenario, Server's with the same
// latency bound. What is compared is samples a second, of streams LoadGen's early-stopping estimate
// of the latency. They may differ by 10 %, by 20 % where SingleStream's estimate is 0.2 ms or less
// and MultiStream's 1.6. Error where a run is none of performance.

// TEST01: the answers that a performance run logged under TEST01's audit.config are those of the
// accuracy run, and it was neither slower nor faster than the performance run by more than that.
Compliance test01(const std::filesystem::path& accuracy, const std::filesystem::path& performance,
                  const std::filesystem::path& audit);

// TEST04: a run on one sample again and again (performance_issue_same) is not faster than the
// performance run by that much: nothing is remembered.
Compliance test04(const std::filesystem::path& performance, const std::filesystem::path& same);

}  // namespace nibble::inline loadgen
