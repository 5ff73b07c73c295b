// SPDX-License-Identifier: Apache-2.0
// The loops of batch norm straight from the scalar definitions.
#include <algorithm>

#include "kernels/integer_paths.h"
#include "laws/batch_norm.h"
#include "laws/round_shift.h"

namespace nibble::inline kernels::reference {
namespace {

std::int8_t clamp_and_count(std::int64_t rounded, std::int64_t& clamped) {
  const std::int8_t result = clamp127(rounded);
  if (result != rounded) ++clamped;
  return result;
}

std::int64_t round_by(const std::uint32_t* draws, std::size_t i, std::int64_t sum, int shift) {
  return draws == nullptr ? shift_nearest(sum, shift) : shift_stochastic(sum, shift, draws[i]);
}

NormErrorPlane plane_of(const NormPlanes& planes, std::size_t i) {
  return {.error = planes.error[i], .value = planes.value[i], .addend = planes.addend[i]};
}

void narrow(const std::int32_t* sums, const std::int32_t* shifts, std::int16_t* v, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) v[i] = norm_value(sums[i], shifts[i]);
}

void widen(const std::int8_t* x, std::int16_t* v, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) v[i] = x[i];
}

void add_moments(const std::int16_t* v, const NormMoments& moments, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    moments.sums[i] += v[i];
    moments.squares[i] += std::int64_t{v[i]} * v[i];
    moments.least[i] = std::min<std::int32_t>(moments.least[i], v[i]);
    moments.most[i] = std::max<std::int32_t>(moments.most[i], v[i]);
  }
}

void add_error_moments(const std::int8_t* e, const std::int16_t* v, std::int32_t* errors,
                       std::int64_t* products, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    errors[i] += e[i];
    products[i] += std::int64_t{e[i]} * v[i];
  }
}

void raise_largest(const std::int8_t* e, const std::int16_t* v, const NormPlanes& planes,
                   std::int64_t* largest, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t magnitude = magnitude_of(plane_of(planes, i).at(e[i], v[i]));
    largest[i] = std::max(largest[i], static_cast<std::int64_t>(magnitude));
  }
}

std::int64_t normalize(const std::int16_t* v, const NormLines& lines, const std::uint32_t* draws,
                       std::int8_t* y, std::size_t n) {
  std::int64_t clamped = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const NormLine line{.multiplier = lines.multiplier[i], .addend = lines.addend[i]};
    y[i] = clamp_and_count(round_by(draws, i, line.at(v[i]), lines.shift[i]), clamped);
  }
  return clamped;
}

std::int64_t pass_error(const std::int8_t* e, const std::int16_t* v, const NormPlanes& planes,
                        const std::uint32_t* draws, std::int8_t* y, std::size_t n) {
  std::int64_t clamped = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t u = plane_of(planes, i).at(e[i], v[i]);
    y[i] = clamp_and_count(round_by(draws, i, u, planes.shift[i]), clamped);
  }
  return clamped;
}

}  // namespace

constinit const NormalizationLoops kNormalizationLoops = {.narrow = narrow,
                                                          .widen = widen,
                                                          .add_moments = add_moments,
                                                          .add_error_moments = add_error_moments,
                                                          .raise_largest = raise_largest,
                                                          .normalize = normalize,
                                                          .pass_error = pass_error};

}  // namespace nibble::inline kernels::reference
