// SPDX-License-Identifier: Apache-2.0
// Tests that every path of the simulated accumulator gives the bits of the definition.
#include "kernels/accumulate/accumulate_test_support.h"
#include "kernels/accumulate/test_accumulator_formats.h"

namespace nibble::inline kernels::accumulation {
namespace {

struct Sizes {
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;
};

TEST_F(Accumulate, EveryPathIsTheDefinitionWithOneFormatForProductsAndSums) {
  constexpr Sizes kSizes[] = {{5, 7, 17}, {1, 12, 15}, {4, 9, 16}, {3, 8, 9}, {6, 5, 3}};
  std::uint64_t turn = 0;
  for (const Format& format : kernel_formats()) {
    for (const Overflow overflow : overflows_of(format)) {
      for (const Rounding& rounding : kernel_roundings()) {
        for (const Way& way : kWays) {
          const Sizes& size = kSizes[++turn % std::size(kSizes)];
          Matrix a = random_matrix(size.m, size.k, turn, 9, turn % 2 == 0 ? 0 : 40);
          Matrix b = random_matrix(size.k, size.n, turn + 1, 9, turn % 3 == 0 ? 40 : 0);
          Accumulator rules = accumulator(format, way);
          rules.rounding = rounding;
          rules.overflow = overflow;
          rules.chunk = static_cast<int>(turn % 7) == 6 ? 0 : static_cast<int>(turn % 7);
          ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, rules));
        }
      }
    }
  }
}

TEST_F(Accumulate, EveryPathIsTheDefinitionWithProductsOfAnotherFormat) {
  const std::vector<Format> formats = kernel_formats();
  std::uint64_t turn = 0;
  for (const Format& format : formats) {
    for (const Format& product : formats) {
      for (const Rounding& rounding : kernel_roundings()) {
        const Way& way = kWays[++turn % 4];
        Matrix a = random_matrix(2, 9, turn, 12, turn % 2 == 0 ? 0 : 60);
        Matrix b = random_matrix(9, 9, turn + 1, 12, 0);
        Accumulator rules = accumulator(format, way);
        rules.product_format = product;
        rules.rounding = rounding;
        ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, rules));
      }
    }
  }
}

// Terms so far apart that a double cannot hold their sum: a plain addition would round twice.
TEST_F(Accumulate, SumsWiderThanADoubleAreRoundedOnce) {
  std::uint64_t turn = 0;
  for (const char* format : {"bf16", "fp32", "tf32", "e8m3"}) {
    for (const char* product : {"bf16", "fp32", "tf32"}) {
      for (const Rounding& rounding : kernel_roundings()) {
        for (const Way& way : kWays) {
          Matrix a = random_matrix(4, 24, ++turn, 30, 0);
          Matrix b = random_matrix(24, 17, turn + 1, 30, 0);
          Accumulator rules = accumulator(format, way);
          rules.product_format = parse_format(product);
          rules.rounding = rounding;
          ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, rules));
        }
      }
    }
  }
}

// Values around the largest, the smallest normal and the smallest number, an eighth of a place
// apart.
TEST_F(Accumulate, TheEdgesOfARangeAreTheDefinition) {
  for (const Format& format : kernel_formats()) {
    const ElementInfo info = describe(format.element);
    std::vector<float> values;
    for (int eighths = -20; eighths <= 20; ++eighths) {
      const double shift = eighths * std::ldexp(0.125, -info.precision_bits);
      for (const double edge : {info.max, info.lowest, info.min_normal, -info.min_normal}) {
        values.push_back(static_cast<float>(edge + edge * shift));
      }
      values.push_back(static_cast<float>(info.min_positive * eighths / 8));
    }
    const auto count = static_cast<std::int64_t>(values.size());
    Matrix a(1, 1, {1.0F});
    Matrix b(1, count, values);
    for (const Overflow overflow : overflows_of(format)) {
      for (const Rounding& rounding : kernel_roundings()) {
        for (const SumMethod method : {SumMethod::separate, SumMethod::fused, SumMethod::kahan}) {
          Accumulator rules = accumulator(format, {method});
          rules.rounding = rounding;
          rules.overflow = overflow;
          ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, rules));
        }
      }
    }
  }
}

TEST_F(Accumulate, EveryShapeAroundATileIsTheDefinition) {
  for (const std::int64_t m : {0, 1, 3, 4, 5, 9}) {
    for (const std::int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33}) {
      for (const std::int64_t k : {0, 1, 2, 3, 6}) {
        Matrix a = random_matrix(m, k, 1, 4, 0);
        Matrix b = random_matrix(k, n, 2, 4, 0);
        for (const Way& way : kWays) {
          ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, accumulator("e5m2", way)));
        }
        Accumulator random = accumulator("e4m3");
        random.rounding = {RoundingMode::stochastic, 11};
        random.chunk = 2;
        ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, random));
      }
    }
  }
}

TEST_F(Accumulate, ResultsDoNotDependOnTheNumberOfThreads) {
  Matrix a = random_matrix(37, 48, 3, 3, 0);
  Matrix b = random_matrix(48, 70, 4, 3, 0);
  for (const Way& way : kWays) {
    for (const RoundingMode mode : {RoundingMode::nearest_even, RoundingMode::stochastic}) {
      Accumulator rules = accumulator("fp16", way);
      rules.rounding = {mode};
      rules.chunk = 20;
      ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, rules, {1, 2, 3}));
    }
  }
}

TEST_F(Accumulate, OtherElementsAndRoundingsRunTheDefinition) {
  std::uint64_t turn = 0;
  for (const Format& format : other_formats()) {
    for (const Rounding& rounding : all_roundings()) {
      for (const Way& way : kWays) {
        Accumulator rules = accumulator(format, way);
        rules.rounding = rounding;
        rules.chunk = static_cast<int>(++turn % 4);
        Matrix a = random_matrix(3, 6, turn, 5, turn % 2 == 0 ? 30 : 0);
        Matrix b = random_matrix(6, 5, turn + 1, 5, 0);
        ASSERT_NO_FATAL_FAILURE(expect_definition_everywhere(a, b, rules, {1, 2}));
      }
    }
  }
}

TEST_F(Accumulate, TheFormatsOfTheFastPathHaveAKernel) {
  for (const Format& format : kernel_formats()) {
    for (const Rounding& rounding : kernel_roundings()) {
      Accumulator rules = accumulator(format);
      rules.rounding = rounding;
      EXPECT_TRUE(make_job({}, nullptr, rules).has_value()) << to_string(format);
    }
  }
  EXPECT_TRUE(make_job({}, nullptr, accumulator("fp16"))->plain_sums);
  EXPECT_TRUE(make_job({}, nullptr, accumulator("fp32"))->plain_sums);
  Accumulator wide_products = accumulator("bf16");
  wide_products.product_format = parse_format("fp32");
  EXPECT_FALSE(make_job({}, nullptr, wide_products)->plain_sums);
}

}  // namespace
}  // namespace nibble::inline kernels::accumulation
