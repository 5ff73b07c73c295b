// SPDX-License-Identifier: Apache-2.0
// Every path of the integer loops against the definitions, bit for bit.
#include "kernels/integer_loops/integer_loops.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/integer_paths.h"
#include "laws/round_shift.h"

namespace nibble::inline kernels {
namespace {

using Bytes = std::vector<std::int8_t>;
using Places = std::vector<std::uint8_t>;
using Sums = std::vector<std::int32_t>;
using Wides = std::vector<std::int64_t>;

const std::vector<std::size_t>& sizes() {
  static const std::vector<std::size_t> all = [] {
    std::vector<std::size_t> s;
    for (std::size_t n = 0; n <= 70; ++n) s.push_back(n);
    for (const std::size_t n : {127, 128, 129, 255, 256, 257, 300, 1021, 4096, 100003}) {
      s.push_back(n);
    }
    return s;
  }();
  return all;
}

// Every value, with the extremes more often. Widths of integers are drawn too, so that all shifts
// meet quotients around the clamp.
template <class X>
std::vector<X> values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<X> x(n);
  for (X& v : x) {
    const std::uint64_t bits = generator();
    const std::uint64_t choice = generator() % 64;
    const auto width = static_cast<int>(generator() % (8 * sizeof(X)));
    v = static_cast<X>(static_cast<X>(bits) >> width);
    if (choice == 0) v = std::numeric_limits<X>::min();
    if (choice == 1) v = std::numeric_limits<X>::max();
    if (choice == 2) v = static_cast<X>(std::numeric_limits<X>::min() + 1);
    if (choice == 3) v = 0;
  }
  return x;
}

Bytes bytes(std::size_t n, std::uint64_t seed) {
  return values<std::int8_t>(n, seed);
}

Places small_numbers(std::size_t n, std::uint64_t below, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Places p(n);
  for (std::uint8_t& v : p) v = static_cast<std::uint8_t>(generator() % below);
  return p;
}

Sums small_sums(std::size_t n, std::uint64_t seed) {
  Sums s = values<std::int32_t>(n, seed);
  for (std::int32_t& v : s) v /= 4;
  return s;
}

class IntegerLoopsOf : public testing::TestWithParam<Isa> {
 protected:
  // Compares what `body(loops, n)` returns on the path and on the reference, for all sizes.
  template <class Body>
  void compare(const Body& body) {
    for (const std::size_t n : sizes()) {
      ASSERT_EQ(body(path_, n), body(reference_, n)) << "n = " << n;
    }
  }

  const IntegerLoops& path_ = integer_loops(GetParam());
  const IntegerLoops& reference_ = integer_loops(Isa::reference);
};

TEST_P(IntegerLoopsOf, TheLargestMagnitudeIsFoundAtEveryPlace) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    return loops.max_magnitude(small_sums(n, n).data(), n);
  });
  compare([](const IntegerLoops& loops, std::size_t n) {
    return loops.max_magnitude64(values<std::int64_t>(n, n).data(), n);
  });
  for (std::size_t n = 1; n <= 70; ++n) {
    for (std::size_t i = 0; i < n; ++i) {
      Sums x(n, -5);
      Wides wide(n, 5);
      x[i] = i % 2 == 0 ? std::numeric_limits<std::int32_t>::min() : 77;
      wide[i] = i % 2 == 0 ? std::numeric_limits<std::int64_t>::min() : -77;
      const bool even = i % 2 == 0;
      ASSERT_EQ(path_.max_magnitude(x.data(), n), even ? 1U << 31 : 77U);
      ASSERT_EQ(path_.max_magnitude64(wide.data(), n), even ? std::uint64_t{1} << 63 : 77U);
    }
  }
}

// What a shift writes, in a buffer one byte too long, and its count.
template <class X, class Shift>
std::pair<Bytes, std::int64_t> shifted(Shift shift, const std::vector<X>& x, int s) {
  Bytes y(x.size() + 1, 99);
  const std::int64_t clamped = shift(x.data(), y.data(), x.size(), s);
  return {y, clamped};
}

TEST_P(IntegerLoopsOf, ShiftsOf32BitsEqualTheDefinition) {
  for (const std::size_t n : sizes()) {
    if (n > 5000) continue;
    const auto x = values<std::int32_t>(n, 3 * n + 1);
    for (int s = 0; s <= 31; ++s) {
      ASSERT_EQ(shifted(path_.shift_pseudo, x, s), shifted(reference_.shift_pseudo, x, s))
          << n << " >> " << s;
    }
  }
}

TEST_P(IntegerLoopsOf, ShiftsOf64BitsEqualTheDefinition) {
  for (const std::size_t n : sizes()) {
    if (n > 2000) continue;
    const auto x = values<std::int64_t>(n, 5 * n + 2);
    for (int s = 0; s <= 62; ++s) {
      ASSERT_EQ(shifted(path_.shift_pseudo64, x, s), shifted(reference_.shift_pseudo64, x, s))
          << n << " >> " << s;
    }
  }
}

TEST_P(IntegerLoopsOf, DrawsAreThoseOfTheirElements) {
  const RandomKey key{.seed = 0x123456789ABCDEF0, .stream = 0x50000009, .step = 77};
  for (const std::size_t n : {0, 1, 3, 4, 5, 16, 31, 32, 63, 64, 65, 128, 200, 259}) {
    for (const std::uint64_t first : {0ULL, 1ULL, 6ULL, 0x3FFFFFFFEULL, 0xFFFFFFFFFULL}) {
      std::vector<std::uint32_t> draws(n);
      path_.draw(key, first, draws.data(), n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(draws[i], draw32(key, first + i)) << first + i;
    }
  }
}

TEST_P(IntegerLoopsOf, StochasticShiftsEqualTheDefinition) {
  for (const std::size_t n : {0, 1, 7, 16, 33, 64, 300}) {
    const auto x = values<std::int32_t>(n, 7 * n + 3);
    const auto draws = values<std::uint32_t>(n, 11 * n + 5);
    for (int s = 0; s <= 31; ++s) {
      const auto of = [&](const IntegerLoops& loops) {
        Bytes y(n + 1, 99);
        const std::int64_t clamped = loops.shift_stochastic(x.data(), draws.data(), y.data(), n, s);
        return std::pair(y, clamped);
      };
      ASSERT_EQ(of(path_), of(reference_)) << n << " >> " << s;
    }
  }
}

TEST_P(IntegerLoopsOf, ShiftsAreRightAroundEveryStepAndTheClamp) {
  for (int s = 0; s <= 31; ++s) {
    Sums x;
    for (std::int64_t step = -260; step <= 260; ++step) {
      for (std::int64_t off = -2; off <= 2; ++off) {
        const std::int64_t v = step * (std::int64_t{1} << s) / 2 + off;
        if (v == static_cast<std::int32_t>(v)) x.push_back(static_cast<std::int32_t>(v));
      }
    }
    const auto [pseudo, pseudo_clamped] = shifted(path_.shift_pseudo, x, s);
    std::int64_t pseudo_clamps = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(pseudo[i], clamp127(shift_pseudo(x[i], s))) << x[i] << " >> " << s;
      pseudo_clamps += pseudo[i] != shift_pseudo(x[i], s);
    }
    EXPECT_EQ(pseudo_clamped, pseudo_clamps);
  }
}

TEST_P(IntegerLoopsOf, ReluAndItsGradientEqualTheDefinition) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    Bytes x = bytes(n, n);
    loops.relu(x.data(), n);
    return x;
  });
  compare([](const IntegerLoops& loops, std::size_t n) {
    Bytes x = bytes(n + 1, n);
    loops.zero_where_not_positive(x.data(), bytes(n, n + 1).data(), n);
    return x;
  });
}

TEST_P(IntegerLoopsOf, PoolingEqualsTheDefinition) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    Bytes best = bytes(n, n + 1);
    Places place = small_numbers(n, 4, n);
    loops.take_larger(bytes(n, n).data(), best.data(), place.data(), 9, n);
    return std::pair(best, place);
  });
  for (const std::uint8_t tap : Places{0, 3, 200}) {
    compare([&](const IntegerLoops& loops, std::size_t n) {
      Places place = small_numbers(n, 4, n);
      for (std::size_t i = 0; i < n; i += 7) place[i] = 200;
      Bytes out(n + 1, 99);
      Sums sum = small_sums(n, n);
      loops.give_back(bytes(n, n + 2).data(), place.data(), tap, out.data(), n);
      loops.give_back_add(bytes(n, n + 2).data(), place.data(), tap, sum.data(), n);
      return std::pair(out, sum);
    });
  }
}

TEST_P(IntegerLoopsOf, SumsEqualTheDefinition) {
  for (const std::int32_t factor : {0, 1, -1, 2, 77, -(1 << 22), 1 << 22}) {
    compare([&](const IntegerLoops& loops, std::size_t n) {
      Sums sum = small_sums(n, n);
      loops.add_scaled(sum.data(), bytes(n, n + 3).data(), factor, n);
      return sum;
    });
  }
  compare([](const IntegerLoops& loops, std::size_t n) {
    Sums sum = small_sums(n, n);
    loops.add_products(sum.data(), bytes(n, n + 3).data(), bytes(n, n + 4).data(), n);
    return sum;
  });
  compare([](const IntegerLoops& loops, std::size_t n) {
    Wides wide = values<std::int64_t>(n, n);
    for (std::int64_t& v : wide) v /= 2;
    loops.add_sums(wide.data(), values<std::int32_t>(n, n + 1).data(), n);
    return wide;
  });
}

TEST_P(IntegerLoopsOf, EveryPairOfBytesIsSubtractedAndClamped) {
  Bytes w, g;
  for (int a = -128; a <= 127; ++a) {
    for (int b = -128; b <= 127; ++b) {
      w.push_back(static_cast<std::int8_t>(a));
      g.push_back(static_cast<std::int8_t>(b));
    }
  }
  Bytes difference = w;
  path_.subtract_clamped(difference.data(), g.data(), w.size());
  for (std::size_t i = 0; i < w.size(); ++i) ASSERT_EQ(difference[i], clamp127(w[i] - g[i]));
}

TEST_P(IntegerLoopsOf, StepsOfAllSizesEqualTheDefinition) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    Bytes w = bytes(n + 1, n);
    loops.subtract_clamped(w.data(), bytes(n, n + 2).data(), n);
    return w;
  });
}

TEST_P(IntegerLoopsOf, StepsWithMomentumEqualTheDefinition) {
  const auto after = [](const auto& loop, const SgdStep& step, const auto& gradient,
                        std::size_t n) {
    Sums fine = values<std::int32_t>(n, n + 1);
    Sums momentum(fine.rbegin(), fine.rend());
    const std::vector<std::uint32_t> draws(momentum.begin(), momentum.end());
    for (std::int32_t& each : fine) each /= 2;  // within ±2^30
    for (std::int32_t& each : momentum) each /= 2;
    const std::uint32_t largest =
        loop(step, gradient.data(), draws.data(), fine.data(), momentum.data(), n);
    return std::tuple(fine, momentum, largest);
  };
  for (const SgdStep& step :
       {SgdStep{.rate = 32767, .shift = 1, .momentum = 230},
        SgdStep{.rate = 16384, .shift = 32, .decay = 29999, .decay_shift = 33, .momentum = 255},
        SgdStep{.rate = 16384,
        .shift = 30,
        .decay = 29999,
        .decay_shift = 20,
        .momentum = 255,
        .looks_ahead = true},
        SgdStep{.rate = 32767, .shift = 1, .momentum = 131, .looks_ahead = true},
        SgdStep{.rate = 32767, .shift = 12, .momentum = 231, .step_shift = 12},
        SgdStep{.rate = 19999, .shift = 40, .momentum = 254, .step_shift = 1, .looks_ahead = true},
        SgdStep{.rate = 30000, .shift = 9, .momentum = 255, .step_shift = 15},
        SgdStep{.rate = 20000, .shift = 62, .decay = 16384, .decay_shift = 1}}) {
    compare([&](const IntegerLoops& loops, std::size_t n) {
      return after(loops.sgd_step, step, values<std::int32_t>(n, n), n);
    });
    compare([&](const IntegerLoops& loops, std::size_t n) {
      return after(loops.sgd_step64, step, values<std::int64_t>(n, n), n);
    });
  }
}

TEST_P(IntegerLoopsOf, MantissasEqualTheDefinition) {
  for (const int s : {1, 16, 30}) {
    compare([&](const IntegerLoops& loops, std::size_t n) {
      Sums x = values<std::int32_t>(n, n);
      for (std::int32_t& each : x) each /= 2;  // within ±2^30
      Bytes w = bytes(n + 1, n);
      const std::int64_t changed = loops.shift_nearest(x.data(), w.data(), n, s);
      return std::pair(w, changed);
    });
  }
}

TEST_P(IntegerLoopsOf, CountsEqualTheDefinition) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    Bytes w = bytes(n, n);
    for (std::size_t i = 0; i < n; i += 3) w[i] = i % 2 == 0 ? 127 : -127;
    return loops.count_at_rails(w.data(), n);
  });
  const Bytes full(300000, -127);  // more than any narrow counter holds
  EXPECT_EQ(path_.count_at_rails(full.data(), full.size()), 300000);
  EXPECT_EQ(shifted(path_.shift_pseudo, Sums(300000, 1000), 1).second, 300000);
  EXPECT_EQ(shifted(path_.shift_pseudo, Sums(1100000, 5), 1).second, 0);
}

TEST_P(IntegerLoopsOf, MasksKeepOrDrop) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    Bytes x = bytes(n + 1, n);
    loops.multiply_mask(x.data(), small_numbers(n, 2, n).data(), n);
    return x;
  });
}

TEST_P(IntegerLoopsOf, FourRowsLieSideBySide) {
  for (const std::uint8_t flip : Places{0x00, 0x80}) {
    compare([&](const IntegerLoops& loops, std::size_t n) {
      const Bytes rows = bytes(4 * n + 3, n);
      const std::int8_t* const starts[4] = {&rows[0], &rows[n + 1], &rows[2 * n], &rows[3 * n + 2]};
      Bytes out(4 * n + 1, 99);
      loops.interleave4(starts, out.data(), n, flip);
      return out;
    });
  }
}

TEST_P(IntegerLoopsOf, SixteenRowsBecomeColumns) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    const Bytes rows = bytes(16 * (n + 3), n);
    Bytes out(n * 21 + 16, 99);
    loops.transpose16(rows.data(), static_cast<std::int64_t>(n + 3), out.data(), 21, n);
    return out;
  });
}

TEST_P(IntegerLoopsOf, EveryByteFindsItsEntry) {
  compare([](const IntegerLoops& loops, std::size_t n) {
    Places x = small_numbers(n, 256, n);
    for (std::size_t i = 0; i < n && n > 256; ++i) x[i] = static_cast<std::uint8_t>(i);
    Bytes y(n + 1, 99);
    loops.look_up(bytes(256, n).data(), x.data(), y.data(), n);
    return y;
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, IntegerLoopsOf,
                         testing::ValuesIn(supported_isas().begin(), supported_isas().end()),
                         [](const auto& path) { return std::string(name_of(path.param)); });

TEST(IntegerLoops, TheActivePathIsTaken) {
  const Isa before = active_isa();
  for (const auto& [isa, loops] : supported_paths(kIntegerLoopsPaths)) {
    set_isa(isa);
    EXPECT_EQ(&integer_loops(), loops) << name_of(isa);
    EXPECT_EQ(&integer_loops(isa), loops) << name_of(isa);
  }
  set_isa(before);
}

TEST(IntegerLoops, OfAPathWithoutOnesOfItsOwnAreThoseItIncludes) {
  EXPECT_EQ(&integer_loops(Isa::amx), &integer_loops(Isa::avx512vnni));
  EXPECT_EQ(&integer_loops(Isa::avx512vnni), &integer_loops(Isa::avx512));
}

}  // namespace
}  // namespace nibble::inline kernels
