// SPDX-License-Identifier: Apache-2.0
// The loops of batch norm, written once for the compiler to vectorize: each instruction set
// compiles them under a Path of its own.
#pragma once

#include "kernels/integer_paths.h"

namespace nibble::inline kernels {

// Nothing here calls a function that another file may have compiled for a lesser machine.
template <class Path>
struct NormLoops {
  static void narrow(const std::int32_t* __restrict sums, const std::int32_t* __restrict shifts,
                     std::int16_t* __restrict v, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto sign = static_cast<std::uint32_t>(sums[i] >> 31);
      const std::uint32_t magnitude = (static_cast<std::uint32_t>(sums[i]) ^ sign) - sign;
      const std::uint32_t half = (std::uint32_t{1} << shifts[i]) >> 1;
      const std::uint32_t rounded = (magnitude + half) >> shifts[i];
      const std::uint32_t limited = rounded > 32767 ? 32767 : rounded;
      v[i] = static_cast<std::int16_t>((limited ^ sign) - sign);
    }
  }

  static void widen(const std::int8_t* __restrict x, std::int16_t* __restrict v, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) v[i] = x[i];
  }

  static void add_moments(const std::int16_t* __restrict v, const NormMoments& moments,
                          std::size_t n) {
    std::int32_t* __restrict sums = moments.sums;
    std::int64_t* __restrict squares = moments.squares;
    std::int32_t* __restrict least = moments.least;
    std::int32_t* __restrict most = moments.most;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t each = v[i];
      sums[i] += each;
      squares[i] += each * each;
      least[i] = each < least[i] ? each : least[i];
      most[i] = each > most[i] ? each : most[i];
    }
  }

  static void add_error_moments(const std::int8_t* __restrict e, const std::int16_t* __restrict v,
                                std::int32_t* __restrict errors, std::int64_t* __restrict products,
                                std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      errors[i] += e[i];
      products[i] += static_cast<std::int32_t>(e[i]) * v[i];
    }
  }

  [[gnu::always_inline]] static std::int64_t plane_at(std::int32_t error, std::int32_t value,
                                                      std::int64_t addend, std::int32_t e,
                                                      std::int32_t v) {
    return static_cast<std::int64_t>(error) * e + static_cast<std::int64_t>(value) * v + addend;
  }

  static void raise_largest(const std::int8_t* __restrict e, const std::int16_t* __restrict v,
                            const NormPlanes& planes, std::int64_t* __restrict largest,
                            std::size_t n) {
    const std::int32_t* __restrict error = planes.error;
    const std::int32_t* __restrict value = planes.value;
    const std::int64_t* __restrict addend = planes.addend;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t u = plane_at(error[i], value[i], addend[i], e[i], v[i]);
      const std::int64_t magnitude = u < 0 ? -u : u;
      largest[i] = magnitude > largest[i] ? magnitude : largest[i];
    }
  }

  // What is added to a magnitude before its last `shift` bits are cut.
  struct Nearest {
    [[gnu::always_inline]] std::uint64_t operator()(std::size_t, std::int32_t shift) const {
      return (std::uint64_t{1} << shift) >> 1;
    }
  };
  // Up where the rest is above the draw's first bits: as many as are missing to the next one.
  struct Stochastic {
    const std::uint32_t* draws;
    [[gnu::always_inline]] std::uint64_t operator()(std::size_t i, std::int32_t shift) const {
      const std::uint64_t u = (std::uint64_t{draws[i]} << 31) >> (63 - shift);
      return (std::uint64_t{1} << shift) - 1 - u;
    }
  };

  template <class Above>
  [[gnu::always_inline]] static std::int8_t rounded(std::int64_t z, std::int32_t shift,
                                                    const Above& above, std::size_t i,
                                                    std::int64_t& clamped) {
    const auto sign = static_cast<std::uint64_t>(z >> 63);
    const std::uint64_t magnitude = (static_cast<std::uint64_t>(z) ^ sign) - sign;
    const std::uint64_t quotient = (magnitude + above(i, shift)) >> shift;
    const std::uint64_t is_clamped = (std::uint64_t{127} - quotient) >> 63;
    clamped += static_cast<std::int64_t>(is_clamped);
    const std::uint64_t limited = (quotient | (0 - is_clamped)) & 127;
    return static_cast<std::int8_t>((limited ^ sign) - sign);
  }

  template <class Above>
  static std::int64_t normalize_by(const std::int16_t* __restrict v, const NormLines& lines,
                                   const Above& above, std::int8_t* __restrict y, std::size_t n) {
    const std::int32_t* __restrict multiplier = lines.multiplier;
    const std::int64_t* __restrict addend = lines.addend;
    const std::int32_t* __restrict shift = lines.shift;
    std::int64_t clamped = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t z = static_cast<std::int64_t>(multiplier[i] * v[i]) + addend[i];
      y[i] = rounded(z, shift[i], above, i, clamped);
    }
    return clamped;
  }

  static std::int64_t normalize(const std::int16_t* v, const NormLines& lines,
                                const std::uint32_t* draws, std::int8_t* y, std::size_t n) {
    if (draws != nullptr) return normalize_by(v, lines, Stochastic{draws}, y, n);
    return normalize_by(v, lines, Nearest{}, y, n);
  }

  template <class Above>
  static std::int64_t pass_error_by(const std::int8_t* __restrict e,
                                    const std::int16_t* __restrict v, const NormPlanes& planes,
                                    const Above& above, std::int8_t* __restrict y, std::size_t n) {
    const std::int32_t* __restrict error = planes.error;
    const std::int32_t* __restrict value = planes.value;
    const std::int64_t* __restrict addend = planes.addend;
    const std::int32_t* __restrict shift = planes.shift;
    std::int64_t clamped = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t u = plane_at(error[i], value[i], addend[i], e[i], v[i]);
      y[i] = rounded(u, shift[i], above, i, clamped);
    }
    return clamped;
  }

  static std::int64_t pass_error(const std::int8_t* e, const std::int16_t* v,
                                 const NormPlanes& planes, const std::uint32_t* draws,
                                 std::int8_t* y, std::size_t n) {
    if (draws != nullptr) return pass_error_by(e, v, planes, Stochastic{draws}, y, n);
    return pass_error_by(e, v, planes, Nearest{}, y, n);
  }
};

template <class Path>
constexpr NormalizationLoops normalization_loops_of() {
  using L = NormLoops<Path>;
  return {.narrow = L::narrow,
          .widen = L::widen,
          .add_moments = L::add_moments,
          .add_error_moments = L::add_error_moments,
          .raise_largest = L::raise_largest,
          .normalize = L::normalize,
          .pass_error = L::pass_error};
}

}  // namespace nibble::inline kernels
