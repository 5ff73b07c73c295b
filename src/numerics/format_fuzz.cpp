// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text either is a format that survives its canonical text, or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
