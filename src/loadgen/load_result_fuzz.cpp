// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either parse as LoadGen's detailed log or throw Error; the reason of what
// parses is one line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "loadgen/load_result.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(load_result) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (nibble::parse_detail_log(text, "fuzz").reason.find('\n') != std::string::npos) std::abort();
  } catch (const nibble::Error&) {
  }
  return 0;
}
