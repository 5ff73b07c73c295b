// SPDX-License-Identifier: Apache-2.0
// The integer loops, written once for the compiler to vectorize: each instruction set compiles them
// under a Path of its own.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/integer_paths.h"
#include "kernels/simd/philox.h"

namespace nibble::inline kernels {

// Nothing here calls a function that another file may have compiled for a lesser machine, or leaves
// one for it: all is static under the Path, and what is shared is inlined by force.
template <class Path>
struct Loops {
  template <class X>
  using Magnitude = std::make_unsigned_t<X>;

  // 1 where x > y, else 0, of unsigned x and y up to half the range. As arithmetic, for a
  // comparison that is also counted keeps g++ 12 from vectorizing.
  template <class M>
  [[gnu::always_inline]] static M is_above(M x, M y) {
    return (y - x) >> (8 * sizeof(M) - 1);
  }

  template <class X>
  static Magnitude<X> max_magnitude(const X* x, std::size_t n) {
    X largest = 0;
    X smallest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      largest = x[i] > largest ? x[i] : largest;
      smallest = x[i] < smallest ? x[i] : smallest;
    }
    const auto above = static_cast<Magnitude<X>>(largest);
    const auto below = Magnitude<X>{0} - static_cast<Magnitude<X>>(smallest);
    return above > below ? above : below;
  }

  template <class X>
  struct Pseudo {
    explicit Pseudo(int shift)
        : s(shift),
          h(s / 2),
          odd(s % 2),
          rest((Magnitude<X>{1} << s) - 1),
          low((Magnitude<X>{1} << h) - 1) {}
    [[gnu::always_inline]] Magnitude<X> operator()(Magnitude<X> m) const {
      const Magnitude<X> q = (m & rest) >> h;
      const Magnitude<X> p = (m & low) << odd;
      return (m >> s) + is_above(q, p);
    }
    int s, h, odd;
    Magnitude<X> rest, low;
  };

  template <class X>
  static std::int64_t shift_pseudo(const X* __restrict x, std::int8_t* __restrict y, std::size_t n,
                                   int s) {
    using M = Magnitude<X>;
    const Pseudo<X> rounding(s);
    constexpr std::size_t kChunk = std::size_t{1} << 30;  // counted in 32 bits
    std::int64_t clamped = 0;
    for (std::size_t begin = 0; begin < n; begin += kChunk) {
      const std::size_t end = n - begin < kChunk ? n : begin + kChunk;
      M clamped_here = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const auto sign = static_cast<M>(x[i] >> (8 * sizeof(X) - 1));  // 0 or all ones
        const M quotient = rounding((static_cast<M>(x[i]) ^ sign) - sign);
        const M is_clamped = is_above(quotient, M{127});
        clamped_here += is_clamped;
        const M limited = (quotient | (M{0} - is_clamped)) & 127;
        y[i] = static_cast<std::int8_t>((limited ^ sign) - sign);
      }
      clamped += static_cast<std::int64_t>(clamped_here);
    }
    return clamped;
  }

  // Counters go through Philox in the Path's vectors, several side by side as long as there are
  // enough draws; rows of few channels take one vector, which the compiler would make scalars of.
  static void draw(const RandomKey& shared_key, std::uint64_t first, std::uint32_t* draws,
                   std::size_t n) {
    using V = typename Path::Vectors;
    constexpr std::size_t kWords = 4 * V::kCounters;
    const RandomKey key = shared_key;  // a copy that the stores to `draws` cannot reach
    std::uint64_t counter = first / 4;
    std::size_t done = 0;
    const auto draw_part = [&](std::size_t skipped) __attribute__((always_inline)) {
      std::uint32_t block[kWords];
      any_philox_blocks<V, 1>(key, counter, static_cast<std::uint32_t>(counter >> 32), block);
      const std::size_t room = kWords - skipped;
      const std::size_t count = n - done < room ? n - done : room;
      std::memcpy(draws + done, block + skipped, count * sizeof(std::uint32_t));
      counter += V::kCounters;
      done += count;
    };
    const auto draw_whole = [&]<std::size_t Batch>() __attribute__((always_inline)) {
      for (; n - done >= Batch * kWords; done += Batch * kWords, counter += Batch * V::kCounters) {
        any_philox_blocks<V, Batch>(key, counter, static_cast<std::uint32_t>(counter >> 32),
                                    draws + done);
      }
    };
    if (first % 4 != 0 && n > 0) draw_part(first % 4);
    draw_whole.template operator()<V::kBatch>();
    draw_whole.template operator()<1>();
    if (done < n) draw_part(0);
  }

  // Up where the rest is above the draw's first bits: 2^s - 1 - u is what is then missing at most.
  static std::int64_t shift_stochastic(const std::int32_t* __restrict x,
                                       const std::uint32_t* __restrict draws,
                                       std::int8_t* __restrict y, std::size_t n, int s) {
    const std::uint32_t rest = (std::uint32_t{1} << s) - 1;
    std::uint32_t clamped = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto sign = static_cast<std::uint32_t>(x[i] >> 31);
      const std::uint32_t magnitude = (static_cast<std::uint32_t>(x[i]) ^ sign) - sign;
      const std::uint32_t u = (draws[i] >> 1) >> (31 - s);
      const std::uint32_t quotient = (magnitude >> s) + is_above(magnitude & rest, u);
      const std::uint32_t is_clamped = is_above(quotient, std::uint32_t{127});
      clamped += is_clamped;
      const std::uint32_t limited = (quotient | (0 - is_clamped)) & 127;
      y[i] = static_cast<std::int8_t>((limited ^ sign) - sign);
    }
    return clamped;
  }

  static void relu(std::int8_t* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = x[i] > 0 ? x[i] : std::int8_t{0};
  }

  static void zero_where_not_positive(std::int8_t* __restrict x, const std::int8_t* __restrict y,
                                      std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = y[i] > 0 ? x[i] : std::int8_t{0};
  }

  static void take_larger(const std::int8_t* __restrict x, std::int8_t* __restrict best,
                          std::uint8_t* __restrict place, std::uint8_t tap, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_larger = x[i] > best[i];
      best[i] = is_larger ? x[i] : best[i];
      place[i] = is_larger ? tap : place[i];
    }
  }

  // A mask and no choice: the error is always read, which a vector needs.
  [[gnu::always_inline]] static std::int8_t given(std::int8_t error, std::uint8_t place,
                                                  std::uint8_t tap) {
    return static_cast<std::int8_t>(error & -static_cast<int>(place == tap));
  }

  static void give_back(const std::int8_t* __restrict error, const std::uint8_t* __restrict place,
                        std::uint8_t tap, std::int8_t* __restrict out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = given(error[i], place[i], tap);
  }

  static void give_back_add(const std::int8_t* __restrict error,
                            const std::uint8_t* __restrict place, std::uint8_t tap,
                            std::int32_t* __restrict sum, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] += given(error[i], place[i], tap);
    }
  }

  static void add_scaled(std::int32_t* __restrict sum, const std::int8_t* __restrict x,
                         std::int32_t factor, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) sum[i] += x[i] * factor;
  }

  static void add_products(std::int32_t* __restrict sum, const std::int8_t* __restrict x,
                           const std::int8_t* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) sum[i] += x[i] * y[i];
  }

  static void add_sums(std::int64_t* __restrict wide, const std::int32_t* __restrict x,
                       std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) wide[i] += x[i];
  }

  [[gnu::always_inline]] static std::int8_t clamped(std::int16_t x) {
    const std::int16_t below = x > 127 ? std::int16_t{127} : x;
    return static_cast<std::int8_t>(below < -127 ? std::int16_t{-127} : below);
  }

  static void subtract_clamped(std::int8_t* __restrict w, const std::int8_t* __restrict g,
                               std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) w[i] = clamped(static_cast<std::int16_t>(w[i] - g[i]));
  }

  // x / 2^s, up where the rest is above the first s bits of the draw, held within ±2^30.
  struct StochasticPart {
    explicit StochasticPart(int shift) : s(shift), rest((std::uint64_t{1} << s) - 1) {}
    [[gnu::always_inline]] std::int64_t operator()(std::int64_t x, std::uint32_t draw) const {
      const auto sign = static_cast<std::uint64_t>(x >> 63);
      const std::uint64_t magnitude = (static_cast<std::uint64_t>(x) ^ sign) - sign;
      const std::uint64_t u = (std::uint64_t{draw} << 32) >> (64 - s);
      const std::uint64_t part = (magnitude >> s) + is_above(magnitude & rest, u);
      const std::uint64_t limited = part < kLimit ? part : kLimit;
      return static_cast<std::int64_t>((limited ^ sign) - sign);
    }
    static constexpr std::uint64_t kLimit = std::uint64_t{1} << 30;
    int s;
    std::uint64_t rest;
  };

  [[gnu::always_inline]] static std::int64_t within(std::int64_t x, std::int64_t limit) {
    const std::int64_t below = x > limit ? limit : x;
    return below < -limit ? -limit : below;
  }

  [[gnu::always_inline]] static std::int64_t in_256ths(std::int64_t product) {
    return (product + ((product >> 63) & 255)) >> 8;  // toward zero
  }

  template <class X, bool kLooksAhead, bool kRoundsStep>
  static std::uint32_t sgd_step_by(const SgdStep& step, const X* __restrict gradient,
                                   const std::uint32_t* __restrict draws,
                                   std::int32_t* __restrict fine, std::int32_t* __restrict momentum,
                                   std::size_t n) {
    constexpr auto kLimit = static_cast<std::int64_t>(StochasticPart::kLimit);
    constexpr std::int64_t kMostGradient = std::int64_t{1} << 47;
    const StochasticPart of_gradient(step.shift);
    const StochasticPart of_number(step.decay != 0 ? step.decay_shift : 1);
    const std::int64_t rate = step.rate;
    const std::int64_t decay = step.decay;
    const StochasticPart of_step(kRoundsStep ? step.step_shift : 1);
    const std::int64_t kept = step.momentum;
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t sum = sizeof(X) > 4 ? within(gradient[i], kMostGradient) : gradient[i];
      const std::int64_t number = fine[i];
      const std::int64_t added =
          of_gradient(sum * rate, draws[i]) + of_number(number * decay, draws[i]);
      const std::int64_t m = within(in_256ths(momentum[i] * kept) + added, kLimit);
      const std::int64_t change = kLooksAhead ? in_256ths(m * kept) + added : m;
      const std::int64_t rounded = kRoundsStep ? of_step(change, draws[i] << 16) : change;
      const std::int64_t moved = within(number - rounded, kLimit);
      momentum[i] = static_cast<std::int32_t>(m);
      fine[i] = static_cast<std::int32_t>(moved);
      const std::int64_t magnitude = moved < 0 ? -moved : moved;
      largest = magnitude > largest ? magnitude : largest;
    }
    return static_cast<std::uint32_t>(largest);
  }

  template <class X>
  static std::uint32_t sgd_step(const SgdStep& step, const X* gradient, const std::uint32_t* draws,
                                std::int32_t* fine, std::int32_t* momentum, std::size_t n) {
    const auto move_by = step.step_shift == 0 ? step.looks_ahead ? sgd_step_by<X, true, false>
                                                                 : sgd_step_by<X, false, false>
                         : step.looks_ahead ? sgd_step_by<X, true, true>
                                              : sgd_step_by<X, false, true>;
    return move_by(step, gradient, draws, fine, momentum, n);
  }

  static std::int64_t shift_nearest(const std::int32_t* __restrict x, std::int8_t* __restrict w,
                                    std::size_t n, int s) {
    const std::int32_t half = 1 << (s - 1);
    std::uint32_t changed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t sign = x[i] >> 31;
      const std::int32_t magnitude = (((x[i] ^ sign) - sign) + half) >> s;
      const std::int32_t limited = magnitude < 127 ? magnitude : 127;
      const auto after = static_cast<std::int8_t>((limited ^ sign) - sign);
      changed += w[i] != after ? 1U : 0U;
      w[i] = after;
    }
    return changed;
  }

  // Counts in 16 bits, a chunk at a time.
  static std::int64_t count_at_rails(const std::int8_t* w, std::size_t n) {
    constexpr std::size_t kChunk = 1U << 15;
    std::int64_t total = 0;
    for (std::size_t begin = 0; begin < n; begin += kChunk) {
      const std::size_t end = n - begin < kChunk ? n : begin + kChunk;
      std::uint16_t here = 0;
      for (std::size_t i = begin; i < end; ++i) {
        here = static_cast<std::uint16_t>(here + ((w[i] == 127) | (w[i] == -127) ? 1 : 0));
      }
      total += here;
    }
    return total;
  }

  static void multiply_mask(std::int8_t* __restrict x, const std::uint8_t* __restrict mask,
                            std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::int8_t>(x[i] & -mask[i]);
  }

  static void interleave4(const std::int8_t* const rows[4], std::int8_t* __restrict out,
                          std::size_t n, std::uint8_t flip) {
    const std::int8_t* __restrict a = rows[0];
    const std::int8_t* __restrict b = rows[1];
    const std::int8_t* __restrict c = rows[2];
    const std::int8_t* __restrict d = rows[3];
    for (std::size_t j = 0; j < n; ++j) {
      out[4 * j] = static_cast<std::int8_t>(a[j] ^ flip);
      out[4 * j + 1] = static_cast<std::int8_t>(b[j] ^ flip);
      out[4 * j + 2] = static_cast<std::int8_t>(c[j] ^ flip);
      out[4 * j + 3] = static_cast<std::int8_t>(d[j] ^ flip);
    }
  }

  // Four rounds of interleaving row i with row i + 8 turn a square of 16 by 16 over.
  static void transpose16(const std::int8_t* __restrict from, std::int64_t from_stride,
                          std::int8_t* __restrict to, std::int64_t to_stride, std::size_t n) {
    using Row [[gnu::vector_size(16)]] = std::int8_t;
    std::size_t j = 0;
    for (; j + 16 <= n; j += 16) {
      Row rows[16];
      for (std::int64_t r = 0; r < 16; ++r)
        std::memcpy(&rows[r], from + r * from_stride + static_cast<std::int64_t>(j), sizeof(Row));
      for (int round = 0; round < 4; ++round) {
        Row next[16];
        for (int i = 0; i < 8; ++i) {
          next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4,
                                                20, 5, 21, 6, 22, 7, 23);
          next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 8], 8, 24, 9, 25, 10, 26, 11,
                                                    27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        std::memcpy(rows, next, sizeof rows);
      }
      for (std::int64_t r = 0; r < 16; ++r)
        std::memcpy(to + (static_cast<std::int64_t>(j) + r) * to_stride, &rows[r], sizeof(Row));
    }
    for (; j < n; ++j) {
      for (std::int64_t r = 0; r < 16; ++r)
        to[static_cast<std::int64_t>(j) * to_stride + r] =
            from[r * from_stride + static_cast<std::int64_t>(j)];
    }
  }

  static void look_up(const std::int8_t* __restrict table, const std::uint8_t* __restrict x,
                      std::int8_t* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = table[x[i]];
  }
};

template <class Path>
constexpr IntegerLoops loops_of() {
  using L = Loops<Path>;
  return {
      .max_magnitude = L::template max_magnitude<std::int32_t>,
      .max_magnitude64 = L::template max_magnitude<std::int64_t>,
      .shift_pseudo = L::template shift_pseudo<std::int32_t>,
      .shift_pseudo64 = L::template shift_pseudo<std::int64_t>,
      .draw = L::draw,
      .shift_stochastic = L::shift_stochastic,
      .relu = L::relu,
      .zero_where_not_positive = L::zero_where_not_positive,
      .take_larger = L::take_larger,
      .give_back = L::give_back,
      .give_back_add = L::give_back_add,
      .add_scaled = L::add_scaled,
      .add_products = L::add_products,
      .add_sums = L::add_sums,
      .subtract_clamped = L::subtract_clamped,
      .sgd_step = L::template sgd_step<std::int32_t>,
      .sgd_step64 = L::template sgd_step<std::int64_t>,
      .shift_nearest = L::shift_nearest,
      .count_at_rails = L::count_at_rails,
      .multiply_mask = L::multiply_mask,
      .interleave4 = L::interleave4,
      .transpose16 = L::transpose16,
      .look_up = L::look_up,
  };
}

}  // namespace nibble::inline kernels
