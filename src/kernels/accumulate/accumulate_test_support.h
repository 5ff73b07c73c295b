// SPDX-License-Identifier: Apache-2.0
// What the tests of the simulated accumulator share: matrices, rules, the comparison of all paths.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/isa.h"
#include "kernels/accumulate/double_sums.h"
#include "kernels/accumulate/paths.h"
#include "kernels/accumulate/reference.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels::accumulation {

class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns) : tensor_(DType::f32, {rows, columns}) {
    std::ranges::fill(tensor_.as<float>(), -7.0F);
  }
  Matrix(std::int64_t rows, std::int64_t columns, const std::vector<float>& values)
      : Matrix(rows, columns) {
    std::ranges::copy(values, tensor_.as<float>().begin());
  }

  std::span<float> values() { return tensor_.as<float>(); }
  Tensor& tensor() { return tensor_; }

 private:
  Tensor tensor_;
};

// Numbers of a few bits times powers of two, so that sums meet ties, and zeros of both signs; one
// in `special` is infinite, NaN, huge or tiny (0: none).
inline Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed, int spread,
                            std::uint32_t special) {
  Matrix matrix(rows, columns);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::bit_cast<float>(0xFFFFFFFFU);
  const float specials[] = {infinity, -infinity, nan, 3e38F, -3e38F, 1e-45F, -1e-45F, 1e-39F};
  std::uint64_t index = 0;
  for (float& value : matrix.values()) {
    const PhiloxBlock draw = philox4x32_10({static_cast<std::uint32_t>(index++), 0, 0, 0},
                                           {static_cast<std::uint32_t>(seed), 17});
    const int bits = static_cast<int>(draw[0] % 25);
    const auto integer = static_cast<float>(draw[1] & ((1U << bits) - 1));
    const int exponent =
        static_cast<int>(draw[2] % static_cast<std::uint32_t>(2 * spread + 1)) - spread;
    value = std::ldexp(draw[3] % 2 == 0 ? integer : -integer, exponent - bits);
    if (special != 0 && draw[3] / 2 % special == 0) value = specials[draw[0] / 32 % 8];
  }
  return matrix;
}

inline std::vector<float> by_definition(Matrix& a, Matrix& b, const Accumulator& accumulator) {
  const Operands operands = {.a = a.values().data(),
                             .b = b.values().data(),
                             .rows = a.tensor().shape()[0],
                             .inner = a.tensor().shape()[1],
                             .columns = b.tensor().shape()[1]};
  std::vector<float> result;
  for (std::int64_t row = 0; row < operands.rows; ++row) {
    for (std::int64_t column = 0; column < operands.columns; ++column) {
      result.push_back(output_of(operands, accumulator, row, column));
    }
  }
  return result;
}

inline std::string text_of(const Accumulator& accumulator, Isa isa) {
  return to_string(accumulator.format) + " products " + to_string(accumulator.product_format) +
         " " + to_string(accumulator.rounding) + " " +
         std::string(to_string(accumulator.overflow)) + " method " +
         std::to_string(static_cast<int>(accumulator.method)) + " order " +
         std::to_string(static_cast<int>(accumulator.order)) + " chunk " +
         std::to_string(accumulator.chunk) + " on " + std::string(name_of(isa));
}

struct Way {
  SumMethod method = SumMethod::separate;
  SumOrder order = SumOrder::sequential;
};
inline constexpr Way kWays[] = {{SumMethod::separate, SumOrder::sequential},
                                {SumMethod::separate, SumOrder::pairwise},
                                {SumMethod::fused, SumOrder::sequential},
                                {SumMethod::kahan, SumOrder::sequential},
                                {SumMethod::quire, SumOrder::sequential}};

inline const RandomKey kKey = {.seed = 0x123456789ABCDEF0, .stream = 5, .step = 6};

inline Accumulator accumulator(const Format& format, const Way& way = {}) {
  Accumulator result = accumulator_of(format);
  result.method = way.method;
  result.order = way.order;
  result.random = kKey;
  return result;
}
inline Accumulator accumulator(std::string_view format, const Way& way = {}) {
  return accumulator(parse_format(format), way);
}

class Accumulate : public ::testing::Test {
 protected:
  void TearDown() override {
    reset_isa();
    set_thread_count(0);
  }

  static void expect_definition_everywhere(Matrix& a, Matrix& b, const Accumulator& accumulator,
                                           const std::vector<int>& threads = {1}) {
    const std::vector<float> expected = by_definition(a, b, accumulator);
    Matrix c(a.tensor().shape()[0], b.tensor().shape()[1]);
    const bool has_kernel = make_job({}, nullptr, accumulator).has_value();
    for (const Isa isa : supported_isas()) {
      const Isa path = has_kernel ? best_path(kTilePaths, isa).isa : Isa::reference;
      set_isa(isa);
      for (const int count : threads) {
        set_thread_count(count);
        std::ranges::fill(c.values(), -7.0F);
        matmul(a.tensor().view(), b.tensor().view(), c.tensor().view(), accumulator);
        ASSERT_EQ(last_isa_used(), path) << text_of(accumulator, isa);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(c.values()[i]),
                    std::bit_cast<std::uint32_t>(expected[i]))
              << text_of(accumulator, isa) << " threads " << count << " output " << i << ": "
              << c.values()[i] << " and not " << expected[i];
        }
      }
    }
  }

  // One dot product, by the definition and by every path.
  static float dot(const std::vector<float>& a, const std::vector<float>& b,
                   const Accumulator& accumulator) {
    const auto length = static_cast<std::int64_t>(a.size());
    Matrix left(1, length, a);
    Matrix right(length, 1, b);
    expect_definition_everywhere(left, right, accumulator);
    return by_definition(left, right, accumulator)[0];
  }
};

}  // namespace nibble::inline kernels::accumulation
