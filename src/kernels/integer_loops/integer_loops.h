// SPDX-License-Identifier: Apache-2.0
// The loops of integer training over contiguous elements; src/laws says what they compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/isa.h"
#include "laws/sgd_step.h"
#include "nibble/core/philox.h"

namespace nibble::inline kernels {

// n may be 0 and needs no multiple, pointers need no alignment. What is written overlaps nothing
// that is read through another argument.
struct IntegerLoops {
  // max |x|: 0 of none, 2^31 (2^63) of the smallest integer.
  std::uint32_t (*max_magnitude)(const std::int32_t* x, std::size_t n);
  std::uint64_t (*max_magnitude64)(const std::int64_t* x, std::size_t n);

  // y = clamp127(shift_pseudo(x, s)); returns how many were clamped.
  // 0 <= s <= 31, of 64 bits 0 <= s <= 62.
  std::int64_t (*shift_pseudo)(const std::int32_t* x, std::int8_t* y, std::size_t n, int s);
  std::int64_t (*shift_pseudo64)(const std::int64_t* x, std::int8_t* y, std::size_t n, int s);

  // draws[i] = draw32(key, first + i).
  void (*draw)(const RandomKey& key, std::uint64_t first, std::uint32_t* draws, std::size_t n);
  // y = clamp127(shift_stochastic(x, s, draw)), 0 <= s <= 31, n < 2^32; returns how many were
  // clamped.
  std::int64_t (*shift_stochastic)(const std::int32_t* x, const std::uint32_t* draws,
                                   std::int8_t* y, std::size_t n, int s);

  void (*relu)(std::int8_t* x, std::size_t n);  // x = max(x, 0)
  // x = y > 0 ? x : 0
  void (*zero_where_not_positive)(std::int8_t* x, const std::int8_t* y, std::size_t n);

  // Maximum pooling, one tap of the window at a time. Where x > best: best = x, place = tap.
  void (*take_larger)(const std::int8_t* x, std::int8_t* best, std::uint8_t* place,
                      std::uint8_t tap, std::size_t n);
  // out = place == tap ? error : 0
  void (*give_back)(const std::int8_t* error, const std::uint8_t* place, std::uint8_t tap,
                    std::int8_t* out, std::size_t n);
  // sum += place == tap ? error : 0
  void (*give_back_add)(const std::int8_t* error, const std::uint8_t* place, std::uint8_t tap,
                        std::int32_t* sum, std::size_t n);

  // sum += x·factor. The caller answers for the range of products and sums.
  void (*add_scaled)(std::int32_t* sum, const std::int8_t* x, std::int32_t factor, std::size_t n);
  // sum += x·y. The caller answers for the range of sums.
  void (*add_products)(std::int32_t* sum, const std::int8_t* x, const std::int8_t* y,
                       std::size_t n);
  void (*add_sums)(std::int64_t* wide, const std::int32_t* x, std::size_t n);  // wide += x

  // w = clamp127(w - g)
  void (*subtract_clamped)(std::int8_t* w, const std::int8_t* g, std::size_t n);

  // Moves every number by the law, whose rounding is stochastic and whose shifts are 1 to 62;
  // returns the largest magnitude of a number then.
  std::uint32_t (*sgd_step)(const SgdStep& step, const std::int32_t* gradient,
                            const std::uint32_t* draws, std::int32_t* fine, std::int32_t* momentum,
                            std::size_t n);
  std::uint32_t (*sgd_step64)(const SgdStep& step, const std::int64_t* gradient,
                              const std::uint32_t* draws, std::int32_t* fine,
                              std::int32_t* momentum, std::size_t n);
  // w = clamp127(shift_nearest(x, s)), |x| <= 2^30, 1 <= s <= 30, n < 2^32; returns how many of w
  // were others before.
  std::int64_t (*shift_nearest)(const std::int32_t* x, std::int8_t* w, std::size_t n, int s);

  std::int64_t (*count_at_rails)(const std::int8_t* w, std::size_t n);             // |w| = 127
  void (*multiply_mask)(std::int8_t* x, const std::uint8_t* mask, std::size_t n);  // mask is 0 or 1

  // The packing of products, four rows side by side: out[4j + q] = rows[q][j] ^ flip, j < n.
  void (*interleave4)(const std::int8_t* const rows[4], std::int8_t* out, std::size_t n,
                      std::uint8_t flip);

  // Columns become rows, for 16 rows: to[j·to_stride + r] = from[r·from_stride + j], j < n.
  void (*transpose16)(const std::int8_t* from, std::int64_t from_stride, std::int8_t* to,
                      std::int64_t to_stride, std::size_t n);

  // y = table[x], of 256 entries.
  void (*look_up)(const std::int8_t* table, const std::uint8_t* x, std::int8_t* y, std::size_t n);
};

const IntegerLoops& integer_loops();  // of active_isa()

// The loops of one path. Above avx512 there is nothing to gain: its loops run.
const IntegerLoops& integer_loops(Isa isa);

}  // namespace nibble::inline kernels
