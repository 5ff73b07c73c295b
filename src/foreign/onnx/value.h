// SPDX-License-Identifier: Apache-2.0
// What a name of an ONNX graph stands for while the graph is translated.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <variant>

#include "foreign/onnx/arguments.h"

namespace nibble::inline foreign {

// What a quantized value may be: step·n with low ≤ n ≤ high.
struct ValueGrid {
  float step = 1;
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const ValueGrid&) const = default;
};

// The value of a node of the network that is being built. There channels lie last; ONNX has them
// first. A value of one axis has the order of ONNX unless it was flattened from a picture.
struct Activation {
  std::size_t node = 0;
  Extents extents;  // of one example, as ONNX has them: (channels, rows, columns), (features), …
  std::optional<std::array<std::int64_t, 3>> flattened_from = {};  // (channels, rows, columns)
  std::optional<ValueGrid> grid = {};                              // empty: any numbers
  std::optional<std::array<float, 2>> clip = {};  // still to be done, by the rounding after it
};

// Neither: the value of a node that has no form here.
using Value = std::variant<std::monostate, Constant, Activation>;

}  // namespace nibble::inline foreign
