// SPDX-License-Identifier: Apache-2.0
// Steps of float training.
#include "bench/float_steps.h"

#include "bench/float_runner.h"

namespace nibble {

bool has_float_training() {
  return true;
}

void run_float_steps(const std::string& network, std::int64_t batch, int steps) {
  FloatRunner runner(network, batch, "fp32", true, false);
  for (int i = 0; i < steps; ++i) runner.step();
}

}  // namespace nibble
