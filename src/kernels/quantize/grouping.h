// SPDX-License-Identifier: Apache-2.0
// Which elements of a tensor share a scale.
#pragma once

#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/core/shape.h"
#include "nibble/numerics/scaling.h"

namespace nibble::inline kernels {

// A tensor seen as outer × length × inner around the scaling's axis.
struct Grouping {
  Granularity granularity = Granularity::tensor;
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
  std::int64_t block = 1;
  std::int64_t blocks_a_line = 1;

  std::int64_t groups() const;

  // Index: any integer type that holds the number of elements.
  template <class Index>
  NIBBLE_HOST_DEVICE Index group_of(Index element) const {
    const auto runs = static_cast<Index>(inner);
    const auto line_length = static_cast<Index>(length);
    switch (granularity) {
      case Granularity::tensor:
        return 0;
      case Granularity::axis:
        return element / runs % line_length;
      case Granularity::block: {
        const Index row = element / runs;
        const Index line = row / line_length;
        const Index position = row - line * line_length;
        return (line * static_cast<Index>(blocks_a_line) + position / static_cast<Index>(block)) *
                   runs +
               (element - row * runs);
      }
    }
    return 0;
  }

  // One past the last element of the contiguous run that shares this element's group.
  std::int64_t run_end(std::int64_t element) const;

  // Shape of the scales: () for a tensor, (length) for an axis, the tensor's shape with its axis
  // counted in blocks otherwise.
  Shape scales_shape(const Shape& shape, const Scaling& scaling) const;
};

Grouping grouping_of(const Shape& shape, const Scaling& scaling);

}  // namespace nibble::inline kernels
