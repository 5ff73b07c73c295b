// SPDX-License-Identifier: Apache-2.0
// Every path of the loops of batch norm against the definitions, bit for bit.
#include "kernels/normalization/normalization_loops.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace nibble::inline kernels {
namespace {

// Numbers of at most `bits` bits and a sign, small ones as often as large ones.
template <class X>
std::vector<X> numbers(std::size_t n, int bits, std::mt19937_64& generator) {
  std::vector<X> x(n);
  for (X& each : x) {
    const auto width = static_cast<std::uint64_t>(bits + 1);
    const std::uint64_t magnitude = generator() & ((std::uint64_t{1} << (generator() % width)) - 1);
    each = static_cast<X>(generator() % 2 == 0 ? magnitude : 0 - magnitude);
  }
  return x;
}

std::vector<std::int32_t> shifts(std::size_t n, std::uint64_t below, std::mt19937_64& generator) {
  std::vector<std::int32_t> s(n);
  for (std::int32_t& each : s) each = static_cast<std::int32_t>(generator() % below);
  return s;
}

class NormalizationLoopsOf : public testing::TestWithParam<Isa> {
 protected:
  template <class Body>
  void compare(const Body& body) {
    for (const std::size_t n : {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 130}) {
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        std::mt19937_64 first(n * 100 + seed);
        std::mt19937_64 second(n * 100 + seed);
        ASSERT_EQ(body(normalization_loops(GetParam()), n, first),
                  body(normalization_loops(Isa::reference), n, second))
            << "n = " << n;
      }
    }
  }
};

TEST_P(NormalizationLoopsOf, SumsAreNarrowedAndValuesWidened) {
  compare([](const NormalizationLoops& loops, std::size_t n, std::mt19937_64& generator) {
    const auto sums = numbers<std::int32_t>(n, 31, generator);
    const auto s = shifts(n, 32, generator);
    const auto x = numbers<std::int8_t>(n, 7, generator);
    std::vector<std::int16_t> narrow(n + 1, 99);
    std::vector<std::int16_t> wide(n + 1, 99);
    loops.narrow(sums.data(), s.data(), narrow.data(), n);
    loops.widen(x.data(), wide.data(), n);
    return std::tuple(narrow, wide);
  });
}

TEST_P(NormalizationLoopsOf, MomentsAreExact) {
  compare([](const NormalizationLoops& loops, std::size_t n, std::mt19937_64& generator) {
    std::vector<std::int32_t> sums(n), errors(n), least(n, 32767), most(n, -32767);
    std::vector<std::int64_t> squares(n), products(n);
    for (int row = 0; row < 5; ++row) {
      const auto v = numbers<std::int16_t>(n, 15, generator);
      const auto e = numbers<std::int8_t>(n, 7, generator);
      loops.add_moments(v.data(), {sums.data(), squares.data(), least.data(), most.data()}, n);
      loops.add_error_moments(e.data(), v.data(), errors.data(), products.data(), n);
    }
    return std::tuple(sums, squares, least, most, errors, products);
  });
}

TEST_P(NormalizationLoopsOf, ValuesAndErrorsAreRoundedAsTheLawSays) {
  compare([](const NormalizationLoops& loops, std::size_t n, std::mt19937_64& generator) {
    const auto v = numbers<std::int16_t>(n, 15, generator);
    const auto e = numbers<std::int8_t>(n, 7, generator);
    const auto multiplier = numbers<std::int32_t>(n, 15, generator);
    const auto error = numbers<std::int32_t>(n, 23, generator);
    const auto slope = numbers<std::int32_t>(n, 30, generator);
    const auto addend = numbers<std::int64_t>(n, 46, generator);
    const auto s = shifts(n, 63, generator);
    const auto draws = numbers<std::uint32_t>(n, 32, generator);
    const NormLines lines{multiplier.data(), addend.data(), s.data()};
    const NormPlanes planes{error.data(), slope.data(), addend.data(), s.data()};
    std::vector<std::int8_t> value(n + 1, 99), by_draw(n + 1, 99), passed(n + 1, 99),
        passed_by_draw(n + 1, 99);
    std::vector<std::int64_t> largest(n, 1000);
    loops.raise_largest(e.data(), v.data(), planes, largest.data(), n);
    const std::int64_t clamped[] = {
        loops.normalize(v.data(), lines, nullptr, value.data(), n),
        loops.normalize(v.data(), lines, draws.data(), by_draw.data(), n),
        loops.pass_error(e.data(), v.data(), planes, nullptr, passed.data(), n),
        loops.pass_error(e.data(), v.data(), planes, draws.data(), passed_by_draw.data(), n)};
    return std::tuple(largest, value, by_draw, passed, passed_by_draw,
                      std::vector(std::begin(clamped), std::end(clamped)));
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, NormalizationLoopsOf,
                         testing::ValuesIn(supported_isas().begin(), supported_isas().end()),
                         [](const auto& path) { return std::string(name_of(path.param)); });

}  // namespace
}  // namespace nibble::inline kernels
