// SPDX-License-Identifier: Apache-2.0
// Rounds a tile of sums into the images of one pixel.
#include <algorithm>
#include <array>
#include <cstddef>

#include "backend/cpu/gather_product.h"
#include "kernels/integer_loops/integer_loops.h"
#include "kernels/normalization/normalization_loops.h"
#include "kernels/products/product_kernels.h"
#include "laws/batch_norm.h"

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
    const std::uint64_t element = place.element(r);
    for (std::int64_t c = 0; c < place.columns; ++c) {
      const std::int64_t sum = sums[r * stride + c];
      outcome.largest = std::max(outcome.largest, static_cast<std::uint64_t>(sum < 0 ? -sum : sum));
      const std::uint32_t draw = job.rounding == ShiftRounding::stochastic
                                     ? draw32(job.random, element + static_cast<std::uint64_t>(c))
                                     : 0;
      const std::int64_t rounded = round_shift(job.rounding, sum, job.shift, draw);
      out[r * result.picture.stride() + c] = clamp127(rounded);
      outcome.saturated += rounded > 127 || rounded < -127 ? 1 : 0;
    }
  }
  return outcome;
}

// Stochastic: a row of draws, then a row of shifts.
SumsOutcome round_by_draws(const RoundingJob& job, const std::int32_t* sums, std::int64_t stride,
                           const TilePlace& place) {
  const BlockTensor& result = place.result;
  const auto columns = static_cast<std::size_t>(place.columns);
  SumsOutcome outcome{.elements = result.images_in(place.group) * place.columns};
  std::array<std::uint32_t, 64> draws;
  for (std::int64_t r = 0; r < result.images_in(place.group); ++r) {
    const std::int32_t* row = sums + r * stride;
    std::int8_t* out =
        result.at(place.group, place.pixel) + r * result.picture.stride() + place.column;
    for (std::size_t c = 0; c < columns; c += draws.size()) {
      const std::size_t count = std::min(draws.size(), columns - c);
      integer_loops().draw(job.random, place.element(r) + c, draws.data(), count);
      const std::uint64_t largest = integer_loops().max_magnitude(row + c, count);
      outcome.largest = std::max(outcome.largest, largest);
      outcome.saturated +=
          integer_loops().shift_stochastic(row + c, draws.data(), out + c, count, job.shift);
    }
  }
  return outcome;
}

SumsOutcome round_once(const RoundingJob& job, const std::int32_t* sums, std::int64_t stride,
                       const TilePlace& place) {
  if (job.rounding == ShiftRounding::stochastic && job.shift <= 31)
    return round_by_draws(job, sums, stride, place);
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

// Values of a batch norm.
void narrow_row(const std::int32_t* sums, std::span<const std::int32_t> shifts, std::int16_t* to) {
  normalization_loops().narrow(sums, shifts.data(), to, shifts.size());
}

void narrow_row(const std::int64_t* sums, std::span<const std::int32_t> shifts, std::int16_t* to) {
  for (std::size_t c = 0; c < shifts.size(); ++c) to[c] = norm_value(sums[c], shifts[c]);
}

template <class Sum>
SumsOutcome narrow_tile(const RoundingJob& job, const Sum* sums, std::int64_t stride,
                        const TilePlace& place) {
  const BlockTensor& result = place.result;
  const auto shifts = job.column_shifts.subspan(static_cast<std::size_t>(place.column),
                                                static_cast<std::size_t>(place.columns));
  for (std::int64_t r = 0; r < result.images_in(place.group); ++r) {
    narrow_row(
        sums + r * stride, shifts,
        result.sums_at(place.group, place.pixel) + r * result.picture.stride() + place.column);
  }
  return {};
}

template <class Sum>
SumsOutcome freeze_tile(const RoundingJob& job, const Sum* sums, std::int64_t stride,
                        const TilePlace& place) {
  const BlockTensor& result = place.result;
  std::int8_t* out = result.at(place.group, place.pixel) + place.column;
  for (std::int64_t r = 0; r < result.images_in(place.group); ++r) {
    for (std::int64_t c = 0; c < place.columns; ++c) {
      const auto at = static_cast<std::size_t>(place.column + c);
      out[r * result.picture.stride() + c] =
          frozen_norm_value(sums[r * stride + c], job.biases[at], job.multipliers[at], job.shift);
    }
  }
  return {};
}

template <class Sum>
SumsOutcome round_by_guesses(const RoundingJob& job, const Sum* sums, std::int64_t stride,
                             const TilePlace& place) {
  if (!job.column_shifts.empty()) return narrow_tile(job, sums, stride, place);
  if (!job.multipliers.empty()) return freeze_tile(job, sums, stride, place);
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
