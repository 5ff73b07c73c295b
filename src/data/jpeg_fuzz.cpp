// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either are a JPEG with the shape of its header or throw Error.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/test_fuzz_target.h"
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(jpeg) {
  using namespace nibble;
  constexpr std::int64_t kMostElements = 1 << 20;  // larger ones only cost time
  try {
    const auto input = std::as_bytes(std::span(data, size));
    const Shape shape = jpeg_shape(input, "fuzz");
    if (shape.elements() > kMostElements) return 0;
    if (decode_jpeg(input, "fuzz").shape() != shape) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
