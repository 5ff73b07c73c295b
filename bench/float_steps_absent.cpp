// SPDX-License-Identifier: Apache-2.0
// A build without oneDNN has no float training.
#include "bench/float_steps.h"
#include "nibble/core/error.h"

namespace nibble {

bool has_float_training() {
  return false;
}

void run_float_steps(const std::string&, std::int64_t, int) {
  throw Error("integer_bench", "float training", "a build without oneDNN", "one with it");
}

}  // namespace nibble
