// SPDX-License-Identifier: Apache-2.0
// Rounds a tile of sums into the images of one pixel.
#include <cstddef>

#include "backend/cpu/gather_product.h"
#include "kernels/products/product_kernels.h"

namespace nibble::inline backend {
namespace {

// The definition, for the roundings that have no kernel and for 64-bit sums.
template <class Sum>
SumsOutcome round_by_definition(const RoundingJob& job, const Sum* sums, std::int64_t stride,
                                const TilePlace& place) {
  const BlockTensor& result = place.result;
  const std::int64_t rows = result.images_in(place.group);
  std::int8_t* out = result.at(place.group, place.pixel) + place.column;
  SumsOutcome outcome{.elements = rows * place.columns};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t image = place.first_image + place.group * kGroup + r;
    const std::int64_t element =
        (image * result.picture.pixels() + place.pixel) * result.picture.channels + place.column;
    for (std::int64_t c = 0; c < place.columns; ++c) {
      const std::int64_t sum = sums[r * stride + c];
      outcome.largest = std::max(outcome.largest, static_cast<std::uint64_t>(sum < 0 ? -sum : sum));
      const std::uint32_t draw = job.rounding == ShiftRounding::stochastic
                                     ? draw32(job.random, static_cast<std::uint64_t>(element + c))
                                     : 0;
      const std::int64_t rounded = round_shift(job.rounding, sum, job.shift, draw);
      out[r * result.picture.stride() + c] = clamp127(rounded);
      outcome.saturated += rounded > 127 || rounded < -127 ? 1 : 0;
    }
  }
  return outcome;
}

SumsOutcome round_once(const RoundingJob& job, const std::int32_t* sums, std::int64_t stride,
                       const TilePlace& place) {
  if (job.rounding != ShiftRounding::nearest || job.shift > 31)
    return round_by_definition(job, sums, stride, place);
  const std::int64_t rows = place.result.images_in(place.group);
  const TileOutcome outcome =
      product_kernels().requantize({.c = sums,
                                    .c_stride = stride,
                                    .rows = static_cast<int>(rows),
                                    .columns = static_cast<int>(place.columns),
                                    .shift = job.shift,
                                    .out = place.result.at(place.group, place.pixel) + place.column,
                                    .out_stride = place.result.picture.stride()});
  return {.largest = outcome.max_magnitude,
          .saturated = outcome.saturated,
          .elements = rows * place.columns};
}

SumsOutcome round_once(const RoundingJob& job, const std::int64_t* sums, std::int64_t stride,
                       const TilePlace& place) {
  return round_by_definition(job, sums, stride, place);
}

template <class Sum>
SumsOutcome round_by_guesses(const RoundingJob& job, const Sum* sums, std::int64_t stride,
                             const TilePlace& place) {
  SumsOutcome outcome = round_once(job, sums, stride, place);
  if (job.other == nullptr) return outcome;
  BlockTensor result = place.result;
  result.data = job.other;
  const RoundingJob second{
      .shift = job.other_shift, .rounding = job.rounding, .random = job.random};
  outcome.other_saturated = round_once(second, sums, stride,
                                       {.result = result,
                                        .group = place.group,
                                        .pixel = place.pixel,
                                        .column = place.column,
                                        .columns = place.columns,
                                        .first_image = place.first_image})
                                .saturated;
  return outcome;
}

}  // namespace

SumsOutcome round_tile(const RoundingJob& job, const std::int32_t* sums, std::int64_t stride,
                       const TilePlace& place) {
  return round_by_guesses(job, sums, stride, place);
}

SumsOutcome round_tile(const RoundingJob& job, const std::int64_t* sums, std::int64_t stride,
                       const TilePlace& place) {
  return round_by_guesses(job, sums, stride, place);
}

}  // namespace nibble::inline backend
