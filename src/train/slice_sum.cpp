// SPDX-License-Identifier: Apache-2.0
// Sums over slices, element by element, in the order of the slices.
#include "train/slice_sum.h"

#include <algorithm>
#include <cstddef>

#include "nibble/core/parallel.h"

namespace nibble {

void sum_slices(const float* parts, std::int64_t slices, std::int64_t stride, std::int64_t count,
                float* sum) {
  constexpr std::size_t kGrain = 4096;  // stays in the first cache while all slices are added
  parallel_for(static_cast<std::size_t>(count), kGrain, [&](std::size_t begin, std::size_t end) {
    if (sum != parts) std::copy(parts + begin, parts + end, sum + begin);
    for (std::int64_t slice = 1; slice < slices; ++slice) {
      const float* part = parts + slice * stride;
      for (std::size_t i = begin; i < end; ++i) sum[i] += part[i];
    }
  });
}

}  // namespace nibble
