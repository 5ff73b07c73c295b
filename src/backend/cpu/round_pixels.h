// SPDX-License-Identifier: Apache-2.0
// Rounds sums that are made pixel by pixel: pools, additions, biases.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "backend/cpu/gather_product.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {

// fill(group, pixel, sums) adds to zeros, [image][channel] with the result's stride.
template <class Sum, class Fill>
SumsOutcome round_pixels(const RoundingJob& job, const BlockTensor& result,
                         std::int64_t first_image, const Fill& fill) {
  const std::int64_t pixels = result.picture.pixels();
  const std::int64_t stride = result.picture.stride();
  constexpr std::size_t kGrain = 8;
  SumsOutcome all;
  std::mutex mutex;
  parallel_for(static_cast<std::size_t>(result.groups() * pixels), kGrain,
               [&](std::size_t begin, std::size_t end) {
                 std::vector<Sum> sums(static_cast<std::size_t>(kGroup * stride));
                 SumsOutcome outcome;
                 for (std::size_t i = begin; i < end; ++i) {
                   const std::int64_t group = static_cast<std::int64_t>(i) / pixels;
                   const std::int64_t pixel = static_cast<std::int64_t>(i) % pixels;
                   std::ranges::fill(sums, Sum{0});
                   fill(group, pixel, sums.data());
                   outcome.join(round_tile(job, sums.data(), stride,
                                           {.result = result,
                                            .group = group,
                                            .pixel = pixel,
                                            .column = 0,
                                            .columns = result.picture.channels,
                                            .first_image = first_image}));
                 }
                 const std::lock_guard lock(mutex);
                 all.join(outcome);
               });
  return all;
}

}  // namespace nibble::inline backend
