// SPDX-License-Identifier: Apache-2.0
// Sums over all but the last axis: by slice, then in slice order.
#include "train/channel_sums.h"

#include <algorithm>

#include "train/slice_sum.h"

namespace nibble {

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

}  // namespace nibble
