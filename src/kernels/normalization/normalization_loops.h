// SPDX-License-Identifier: Apache-2.0
// The loops of batch norm in integers over the channels of one pixel; laws/batch_norm.h says what
// they compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/isa.h"
#include "nibble/core/philox.h"

namespace nibble::inline kernels {

// z = multiplier·v + addend of every channel, R(z, shift).
struct NormLines {
  const std::int32_t* multiplier = nullptr;
  const std::int64_t* addend = nullptr;
  const std::int32_t* shift = nullptr;  // 0 to 62
};

// u = error·e + value·v + addend of every channel, R(u, shift).
struct NormPlanes {
  const std::int32_t* error = nullptr;
  const std::int32_t* value = nullptr;
  const std::int64_t* addend = nullptr;
  const std::int32_t* shift = nullptr;
};

struct NormMoments {
  std::int32_t* sums = nullptr;  // of at most 65,536 rows
  std::int64_t* squares = nullptr;
  std::int32_t* least = nullptr;
  std::int32_t* most = nullptr;
};

// n channels of one row; n needs no multiple, pointers no alignment, and what is written overlaps
// nothing that is read.
struct NormalizationLoops {
  // v = clamp(R(sum, shift), 32767), shifts from 0 to 31.
  void (*narrow)(const std::int32_t* sums, const std::int32_t* shifts, std::int16_t* v,
                 std::size_t n);
  void (*widen)(const std::int8_t* x, std::int16_t* v, std::size_t n);
  void (*add_moments)(const std::int16_t* v, const NormMoments& moments, std::size_t n);
  // errors += e, of at most 2^24 rows; products += e·v.
  void (*add_error_moments)(const std::int8_t* e, const std::int16_t* v, std::int32_t* errors,
                            std::int64_t* products, std::size_t n);
  void (*raise_largest)(const std::int8_t* e, const std::int16_t* v, const NormPlanes& planes,
                        std::int64_t* largest, std::size_t n);  // by |u|

  // To the nearest, or with one draw a channel where `draws` is not null; clamped to ±127. Return
  // how many were clamped.
  std::int64_t (*normalize)(const std::int16_t* v, const NormLines& lines,
                            const std::uint32_t* draws, std::int8_t* y, std::size_t n);
  std::int64_t (*pass_error)(const std::int8_t* e, const std::int16_t* v, const NormPlanes& planes,
                             const std::uint32_t* draws, std::int8_t* y, std::size_t n);
};

const NormalizationLoops& normalization_loops();  // of active_isa()
const NormalizationLoops& normalization_loops(Isa isa);

}  // namespace nibble::inline kernels
