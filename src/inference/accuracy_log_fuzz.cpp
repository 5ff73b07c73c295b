// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either parse as an accuracy log or throw Error; indices and classes of
// what parses are not negative.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "inference/accuracy_log.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(accuracy_log) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& [index, answer] : nibble::parse_accuracy_log(text, "fuzz")) {
      if (index < 0 || answer < 0) std::abort();
    }
  } catch (const nibble::Error&) {
  }
  return 0;
}
