// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a tuning that survives its text form, or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/engine/tuning.h"

NIBBLE_FUZZ_TARGET(tuning) {
  using namespace nibble;
  Tuning tuning;
  try {
    tuning = parse_tuning({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  if (parse_tuning(to_text(tuning), "copy") != tuning) std::abort();
  return 0;
}
