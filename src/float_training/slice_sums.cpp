// SPDX-License-Identifier: Apache-2.0
// Sums over slices, made in the order of the slices.
#include "float_training/slice_sums.h"

#include <algorithm>
#include <cstddef>

#include "nibble/core/parallel.h"

namespace nibble::inline float_training {

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

void sum_channels(const Pass& pass, const float* values, std::int64_t rows, std::int64_t channels,
                  float* sums) {
  const Slices& slices = pass.slices;
  const std::int64_t rows_an_image = rows / slices.images;
  const Buffer parts = pass.pool->take<float>(slices.count() * channels);
  for_each_task(slices.count(), [&](std::int64_t slice) {
    float* part = parts.as<float>() + slice * channels;
    std::fill_n(part, channels, 0.0F);
    for (std::int64_t row = slices.begin(slice) * rows_an_image;
         row < slices.end(slice) * rows_an_image; ++row) {
      const float* value = values + row * channels;
      for (std::int64_t c = 0; c < channels; ++c) part[c] += value[c];
    }
  });
  sum_slices(parts.as<float>(), slices.count(), channels, channels, sums);
}

}  // namespace nibble::inline float_training
