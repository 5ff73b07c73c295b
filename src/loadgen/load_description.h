// SPDX-License-Identifier: Apache-2.0
// settings.json of a run: what was asked for, what was measured before it, where it ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "loadgen/run_load.h"

namespace nibble::inline loadgen {

inline constexpr double kShortRunMs = 10'000;  // without a user.conf

struct LoadDescription {
  const LoadRunOptions& options;
  std::uint64_t weights = 0;     // hash of the model's
  std::string obstacle = {};     // to a submission; empty: none
  double expected_rate = 0;      // of queries, which LoadGen is told
  std::size_t most_samples = 0;  // of a batch
  double longest_wait_ms = 0;    // for others
  double in_time_for_ms = 0;     // longer ones let others go first; 0: none does
  int lanes = 0;
  int threads = 0;
};

std::string to_json(const LoadDescription& description);

}  // namespace nibble::inline loadgen
