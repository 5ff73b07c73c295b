// SPDX-License-Identifier: Apache-2.0
// The integer loops straight from the scalar definitions.
#include <algorithm>

#include "kernels/integer_paths.h"
#include "laws/rescale.h"
#include "laws/round_shift.h"

namespace nibble::inline kernels::reference {
namespace {

template <class Magnitude, class X>
Magnitude max_magnitude(const X* x, std::size_t n) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, magnitude_of(x[i]));
  return static_cast<Magnitude>(largest);
}

template <class X>
std::int64_t shift_pseudo_all(const X* x, std::int8_t* y, std::size_t n, int s) {
  std::int64_t clamped = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t quotient = shift_pseudo(x[i], s);
    y[i] = clamp127(quotient);
    if (y[i] != quotient) ++clamped;
  }
  return clamped;
}

void draw(const RandomKey& key, std::uint64_t first, std::uint32_t* draws, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) draws[i] = draw32(key, first + i);
}

std::int64_t shift_stochastic_all(const std::int32_t* x, const std::uint32_t* draws, std::int8_t* y,
                                  std::size_t n, int s) {
  std::int64_t clamped = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t quotient = shift_stochastic(x[i], s, draws[i]);
    y[i] = clamp127(quotient);
    if (y[i] != quotient) ++clamped;
  }
  return clamped;
}

void relu(std::int8_t* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = std::max<std::int8_t>(x[i], 0);
}

void zero_where_not_positive(std::int8_t* x, const std::int8_t* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (y[i] <= 0) x[i] = 0;
  }
}

void take_larger(const std::int8_t* x, std::int8_t* best, std::uint8_t* place, std::uint8_t tap,
                 std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (x[i] <= best[i]) continue;
    best[i] = x[i];
    place[i] = tap;
  }
}

void give_back(const std::int8_t* error, const std::uint8_t* place, std::uint8_t tap,
               std::int8_t* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = place[i] == tap ? error[i] : std::int8_t{0};
}

void give_back_add(const std::int8_t* error, const std::uint8_t* place, std::uint8_t tap,
                   std::int32_t* sum, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (place[i] == tap) sum[i] += error[i];
  }
}

void add_scaled(std::int32_t* sum, const std::int8_t* x, std::int32_t factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += x[i] * factor;
}

void add_products(std::int32_t* sum, const std::int8_t* x, const std::int8_t* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += x[i] * y[i];
}

void add_sums(std::int64_t* wide, const std::int32_t* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) wide[i] += x[i];
}

void subtract_clamped(std::int8_t* w, const std::int8_t* g, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) w[i] = clamp127(w[i] - g[i]);
}

template <class X>
std::uint32_t sgd_step_all(const SgdStep& step, const X* gradient, const std::uint32_t* draws,
                           std::int32_t* fine, std::int32_t* momentum, std::size_t n) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    FineNumber number{fine[i], momentum[i]};
    step.move(number, gradient[i], draws[i]);
    fine[i] = number.fine;
    momentum[i] = number.momentum;
    largest = std::max(largest, magnitude_of(number.fine));
  }
  return static_cast<std::uint32_t>(largest);
}

std::int64_t shift_nearest_all(const std::int32_t* x, std::int8_t* w, std::size_t n, int s) {
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int8_t after = clamp127(shift_nearest(x[i], s));
    if (w[i] != after) ++changed;
    w[i] = after;
  }
  return changed;
}

std::int64_t count_at_rails(const std::int8_t* w, std::size_t n) {
  return std::count_if(w, w + n, [](std::int8_t x) { return x == 127 || x == -127; });
}

void multiply_mask(std::int8_t* x, const std::uint8_t* mask, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::int8_t>(x[i] * mask[i]);
}

void interleave4(const std::int8_t* const rows[4], std::int8_t* out, std::size_t n,
                 std::uint8_t flip) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t q = 0; q < 4; ++q)
      out[4 * j + q] = static_cast<std::int8_t>(rows[q][j] ^ flip);
  }
}

void transpose16(const std::int8_t* from, std::int64_t from_stride, std::int8_t* to,
                 std::int64_t to_stride, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::int64_t r = 0; r < 16; ++r)
      to[static_cast<std::int64_t>(j) * to_stride + r] =
          from[r * from_stride + static_cast<std::int64_t>(j)];
  }
}

void look_up(const std::int8_t* table, const std::uint8_t* x, std::int8_t* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace

constinit const IntegerLoops kIntegerLoops = {
    .max_magnitude = max_magnitude<std::uint32_t, std::int32_t>,
    .max_magnitude64 = max_magnitude<std::uint64_t, std::int64_t>,
    .shift_pseudo = shift_pseudo_all<std::int32_t>,
    .shift_pseudo64 = shift_pseudo_all<std::int64_t>,
    .draw = draw,
    .shift_stochastic = shift_stochastic_all,
    .relu = relu,
    .zero_where_not_positive = zero_where_not_positive,
    .take_larger = take_larger,
    .give_back = give_back,
    .give_back_add = give_back_add,
    .add_scaled = add_scaled,
    .add_products = add_products,
    .add_sums = add_sums,
    .subtract_clamped = subtract_clamped,
    .sgd_step = sgd_step_all<std::int32_t>,
    .sgd_step64 = sgd_step_all<std::int64_t>,
    .shift_nearest = shift_nearest_all,
    .count_at_rails = count_at_rails,
    .multiply_mask = multiply_mask,
    .interleave4 = interleave4,
    .transpose16 = transpose16,
    .look_up = look_up,
};

}  // namespace nibble::inline kernels::reference
