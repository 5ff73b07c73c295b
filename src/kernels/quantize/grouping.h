// SPDX-License-Identifier: Apache-2.0
// Which elements of a tensor share a scale.
#pragma once

#include <cstdint>

#include "nibble/core/shape.h"
#include "nibble/numerics/scaling.h"

namespace nibble {

// A tensor seen as outer × length × inner around the scaling's axis.
struct Grouping {
  Granularity granularity = Granularity::tensor;
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
  std::int64_t block = 1;
  std::int64_t blocks_a_line = 1;

  std::int64_t groups() const;
  std::int64_t group_of(std::int64_t element) const;

  // One past the last element of the contiguous run that shares this element's group.
  std::int64_t run_end(std::int64_t element) const;

  // Shape of the scales: () for a tensor, (length) for an axis, the tensor's shape with its axis
  // counted in blocks otherwise.
  Shape scales_shape(const Shape& shape, const Scaling& scaling) const;
};

Grouping grouping_of(const Shape& shape, const Scaling& scaling);

}  // namespace nibble
