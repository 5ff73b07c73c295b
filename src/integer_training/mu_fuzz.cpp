// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a course of integer learning rates that survives its text form,
// or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

NIBBLE_FUZZ_TARGET(mu) {
  using namespace nibble;
  MuSchedule schedule;
  try {
    schedule = parse_mu({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;
  }
  if (parse_mu(to_string(schedule)) != schedule) std::abort();
  for (const std::int64_t epoch : {0, 1, 100, 1'000'000}) (void)schedule.at(epoch);
  return 0;
}
