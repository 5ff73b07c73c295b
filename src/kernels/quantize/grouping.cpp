// SPDX-License-Identifier: Apache-2.0
// Which elements of a tensor share a scale.
#include "kernels/quantize/grouping.h"

#include <algorithm>
#include <array>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline kernels {

std::int64_t Grouping::groups() const {
  switch (granularity) {
    case Granularity::tensor:
      return 1;
    case Granularity::axis:
      return length;
    case Granularity::block:
      return outer * blocks_a_line * inner;
  }
  return 1;
}

std::int64_t Grouping::run_end(std::int64_t element) const {
  switch (granularity) {
    case Granularity::tensor:
      return outer * length * inner;
    case Granularity::axis:
      return (element / inner + 1) * inner;
    case Granularity::block: {
      if (inner > 1) return element + 1;
      const std::int64_t line = element / length * length;
      return line + std::min(((element - line) / block + 1) * block, length);
    }
  }
  return element + 1;
}

Shape Grouping::scales_shape(const Shape& shape, const Scaling& scaling) const {
  if (granularity == Granularity::tensor) return {};
  if (granularity == Granularity::axis) return {length};
  if (shape.rank() == 0) return {blocks_a_line};
  std::array<std::int64_t, kMaxRank> extents{};
  std::copy(shape.extents().begin(), shape.extents().end(), extents.begin());
  extents[shape.normalized_axis(scaling.axis)] = blocks_a_line;
  return Shape(std::span<const std::int64_t>(extents.data(), shape.rank()));
}

Grouping grouping_of(const Shape& shape, const Scaling& scaling) {
  Grouping g{.granularity = scaling.granularity};
  if (shape.rank() == 0 && (scaling.axis < -1 || scaling.axis > 0)) {
    throw Error("quantize", "axis of a scalar", std::to_string(scaling.axis), "0 or -1");
  }
  if (scaling.granularity == Granularity::tensor || shape.rank() == 0) {
    g.length = shape.elements();
    g.block = std::max<std::int64_t>(scaling.block, 1);
    g.blocks_a_line = (g.length + g.block - 1) / g.block;
    return g;
  }
  const std::size_t axis = shape.normalized_axis(scaling.axis);
  for (std::size_t i = 0; i < axis; ++i) g.outer *= shape[i];
  g.length = shape[axis];
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) g.inner *= shape[i];
  if (scaling.granularity == Granularity::block) {
    g.block = scaling.block;
    g.blocks_a_line = (g.length + g.block - 1) / g.block;
  }
  return g;
}

}  // namespace nibble::inline kernels
