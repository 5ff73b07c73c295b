// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a schedule of finite rates that survives its text form, or throws
// Error.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/run_folder/schedule.h"

NIBBLE_FUZZ_TARGET(schedule) {
  using namespace nibble;
  Schedule schedule;
  try {
    schedule = parse_schedule({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;
  }
  if (parse_schedule(to_string(schedule)) != schedule) std::abort();
  for (const std::int64_t step : {0, 1, 999, 49'999}) {
    const double rate =
        rate_at(schedule, 0.1, {.step = step, .steps_per_epoch = 1000, .epochs = 50});
    if (!std::isfinite(rate) || rate < 0) std::abort();
  }
  return 0;
}
