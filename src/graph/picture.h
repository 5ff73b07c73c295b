// SPDX-License-Identifier: Apache-2.0
// One example of a value as a picture, whatever its layout in memory is.
#pragma once

#include <cstdint>

#include "nibble/core/shape.h"

namespace nibble::inline graph {

struct Picture {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t channels = 1;

  std::int64_t pixels() const { return height * width; }
  std::int64_t elements() const { return pixels() * channels; }
  bool operator==(const Picture&) const = default;
};

// A vector is one pixel.
inline Picture picture_of(const Shape& example) {
  if (example.rank() == 3) return {example[0], example[1], example[2]};
  return {1, 1, example.elements()};
}

}  // namespace nibble::inline graph
