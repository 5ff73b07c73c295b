// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a format that survives its canonical text, or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

NIBBLE_FUZZ_TARGET(format) {
  using namespace nibble;
  Format format;
  try {
    format = parse_format(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
    return 0;
  }
  const std::string text = to_string(format);
  if (parse_format(text) != format || to_string(parse_format(text)) != text) std::abort();
  return 0;
}
