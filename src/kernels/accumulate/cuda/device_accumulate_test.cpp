// SPDX-License-Identifier: Apache-2.0
// Tests that a GPU gives the bits of the CPU, whatever the accumulator.
#include "nibble/kernels/device_accumulate.h"

#include "cuda/test_memory.h"
#include "kernels/accumulate/accumulate_test_support.h"
#include "kernels/accumulate/test_accumulator_formats.h"
#include "nibble/core/error.h"

namespace nibble::inline kernels::accumulation {
namespace {

struct Sizes {
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;
};

// Both operands random, one in `special` of their values infinite, NaN, huge or tiny.
struct Factors {
  Factors(const Sizes& size, std::uint64_t seed, int spread, std::uint32_t special = 0)
      : a(random_matrix(size.m, size.k, seed, spread, special)),
        b(random_matrix(size.k, size.n, seed + 1, spread, special)) {}

  Matrix a;
  Matrix b;
};

class DeviceAccumulate : public ::testing::Test {
 protected:
  // Queues the product on the GPU; c holds -7 before.
  static void queue(Matrix& a, Matrix& b, const Accumulator& rules, const cuda::Place& place) {
    const std::vector<float> before(count_of(a, b), -7.0F);
    ASSERT_LE(std::max({a.values().size(), b.values().size(), before.size()}), kMost);
    a_->put(a.values());
    b_->put(b.values());
    c_->put(before);
    queue_again(a, b, rules, place);
  }

  static void queue_again(Matrix& a, Matrix& b, const Accumulator& rules,
                          const cuda::Place& place) {
    ASSERT_LE(device_matmul_workspace(rules), kMost * sizeof(float));
    device_matmul(a_->data(), b_->data(), c_->data(), a.tensor().shape()[0], a.tensor().shape()[1],
                  b.tensor().shape()[1], rules, workspace_->data(), place);
  }

  static void expect_result(Matrix& a, Matrix& b, const Accumulator& rules) {
    Matrix expected(a.tensor().shape()[0], b.tensor().shape()[1]);
    matmul(a.tensor().view(), b.tensor().view(), expected.tensor().view(), rules);
    const std::vector<float> got = c_->get();
    for (std::size_t i = 0; i < expected.values().size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]),
                std::bit_cast<std::uint32_t>(expected.values()[i]))
          << text_of(rules, last_isa_used()) << " output " << i << " of "
          << expected.tensor().shape().to_string() << ": " << got[i] << " and not "
          << expected.values()[i];
    }
  }

  static void expect_cpu_bits(Matrix& a, Matrix& b, const Accumulator& rules,
                              const cuda::Place& place = {}) {
    ASSERT_NO_FATAL_FAILURE(queue(a, b, rules, place));
    expect_result(a, b, rules);
  }

  static void SetUpTestSuite() {
    a_ = new cuda::TestMemory<float>(kMost);
    b_ = new cuda::TestMemory<float>(kMost);
    c_ = new cuda::TestMemory<float>(kMost);
    workspace_ = new cuda::TestMemory<float>(kMost);
  }
  static void TearDownTestSuite() {
    for (cuda::TestMemory<float>** memory : {&a_, &b_, &c_, &workspace_}) {
      delete *memory;
      *memory = nullptr;
    }
  }

  static std::size_t count_of(Matrix& a, Matrix& b) {
    return static_cast<std::size_t>(a.tensor().shape()[0] * b.tensor().shape()[1]);
  }

  static constexpr std::size_t kMost = 1 << 18;
  static inline cuda::TestMemory<float>* a_ = nullptr;
  static inline cuda::TestMemory<float>* b_ = nullptr;
  static inline cuda::TestMemory<float>* c_ = nullptr;
  static inline cuda::TestMemory<float>* workspace_ = nullptr;
};

TEST_F(DeviceAccumulate, HasTheBitsOfTheCpuWithOneFormatForProductsAndSums) {
  constexpr Sizes kSizes[] = {{5, 7, 17}, {33, 12, 65}, {4, 40, 32}, {1, 66, 33}, {40, 5, 3}};
  std::uint64_t turn = 0;
  for (const Format& format : kernel_formats()) {
    for (const Overflow overflow : overflows_of(format)) {
      for (const Rounding& rounding : kernel_roundings()) {
        for (const Way& way : kWays) {
          ++turn;
          Factors f(kSizes[turn % std::size(kSizes)], turn, 9, turn % 3 == 0 ? 40 : 0);
          Accumulator rules = accumulator(format, way);
          rules.rounding = rounding;
          rules.overflow = overflow;
          rules.chunk = static_cast<int>(turn % 7) == 6 ? 0 : static_cast<int>(turn % 7);
          ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules));
        }
      }
    }
  }
}

TEST_F(DeviceAccumulate, HasTheBitsOfTheCpuWithProductsOfAnotherFormat) {
  std::vector<Format> formats = kernel_formats();
  for (const Format& format : other_formats()) formats.push_back(format);
  const std::vector<Rounding> roundings = kernel_roundings();
  std::uint64_t turn = 0;
  for (const Format& format : formats) {
    for (const Format& product : formats) {
      for (const Way& way : kWays) {
        Accumulator rules = accumulator(format, way);
        rules.product_format = product;
        rules.rounding = roundings[++turn % roundings.size()];
        Factors f({2, 9, 9}, turn, 12, turn % 2 == 0 ? 0 : 60);
        ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules));
      }
    }
  }
}

TEST_F(DeviceAccumulate, RunsTheDefinitionOfEveryElementAndRounding) {
  std::vector<Format> formats = kernel_formats();
  for (const Format& format : other_formats()) formats.push_back(format);
  std::uint64_t turn = 0;
  for (const Format& format : formats) {
    for (const Rounding& rounding : all_roundings()) {
      for (const Way& way : kWays) {
        Accumulator rules = accumulator(format, way);
        rules.rounding = rounding;
        rules.chunk = static_cast<int>(++turn % 4);
        Factors f({3, 11, 50}, turn, 5, turn % 2 == 0 ? 30 : 0);
        ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules));
      }
    }
  }
}

// Terms so far apart that a double cannot hold their sum.
TEST_F(DeviceAccumulate, RoundsSumsWiderThanADoubleOnce) {
  std::uint64_t turn = 0;
  for (const char* format : {"bf16", "fp32", "tf32", "e8m3", "posit(32,2)"}) {
    for (const char* product : {"bf16", "fp32", "tf32"}) {
      for (const Rounding& rounding : kernel_roundings()) {
        for (const Way& way : kWays) {
          Factors f({4, 24, 17}, ++turn, 30);
          Accumulator rules = accumulator(format, way);
          rules.product_format = parse_format(product);
          rules.rounding = rounding;
          ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules));
        }
      }
    }
  }
}

TEST_F(DeviceAccumulate, EveryShapeAroundABlockHasTheBitsOfTheCpu) {
  Accumulator random = accumulator("e4m3");
  random.rounding = {RoundingMode::stochastic, 11};
  random.chunk = 2;
  for (const std::int64_t m : {0, 1, 4, 31, 32, 33, 65}) {
    for (const std::int64_t n : {0, 1, 31, 32, 33, 63, 64, 65, 129}) {
      for (const std::int64_t k : {0, 1, 31, 32, 33, 64, 70}) {
        Factors f({m, k, n}, 1, 4);
        for (const Way& way : kWays) {
          ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, accumulator("e5m2", way)));
        }
        ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, random));
      }
    }
  }
}

TEST_F(DeviceAccumulate, LongSumsHaveTheBitsOfTheCpu) {
  Factors f({40, 3000, 50}, 7, 3);
  for (const char* format : {"fp16", "bf16", "fixed(16,8)", "posit(16,1)"}) {
    for (const int chunk : {0, 1, 64, 1001}) {
      for (const Way& way : kWays) {
        for (const char* rounding : {"nearest-even", "stochastic(16)", "stochastic"}) {
          Accumulator rules = accumulator(format, way);
          rules.rounding = parse_rounding(rounding);
          rules.chunk = chunk;
          ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules));
        }
      }
    }
  }
}

TEST_F(DeviceAccumulate, TablesOfEveryLengthTravelToTheDevice) {
  for (const int entries : {2, 17, 1024, 1025, 65536}) {
    CodebookElement table;
    for (int i = 0; i < entries; ++i) {
      table.values.push_back(static_cast<float>(i - entries / 2) * 0.01F);
    }
    Accumulator rules = accumulator(plain(table));
    rules.product_format = plain(CodebookElement{"", {-2.0F, -0.5F, 0.0F, 0.3F, 4.0F}});
    Factors f({8, 20, 40}, static_cast<std::uint64_t>(entries), 3);
    ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules));
  }
}

TEST_F(DeviceAccumulate, RunsOnAnyStreamAndUnderCapture) {
  cuda::TestStream stream;
  for (const char* format : {"fp16", "posit(16,1)", "codebook(nf4)"}) {
    for (const Way& way : kWays) {
      const Accumulator rules = accumulator(format, way);
      Factors f({37, 50, 41}, 3, 3);
      ASSERT_NO_FATAL_FAILURE(expect_cpu_bits(f.a, f.b, rules, stream.place()));
      // The first run of the captured call leaves the second one's operands in place.
      Factors other({37, 50, 41}, 4, 3);
      a_->put(other.a.values());
      b_->put(other.b.values());
      stream.run_captured(2, [&] {
        ASSERT_NO_FATAL_FAILURE(queue_again(other.a, other.b, rules, stream.place()));
      });
      ASSERT_NO_FATAL_FAILURE(expect_result(other.a, other.b, rules));
    }
  }
}

TEST_F(DeviceAccumulate, WrongArgumentsAreRefused) {
  const auto run = [&](const Accumulator& rules, std::int64_t m, void* workspace) {
    device_matmul(a_->data(), b_->data(), c_->data(), m, 2, 2, rules, workspace, {});
  };
  EXPECT_NO_THROW(run(accumulator("fp16"), 2, nullptr));
  EXPECT_THROW(run(accumulator("fp16"), -1, nullptr), Error);
  EXPECT_THROW(run(accumulator("mxfp4"), 2, nullptr), Error);
  EXPECT_THROW(run(accumulator("codebook(nf4)"), 2, nullptr), Error);
  EXPECT_NO_THROW(run(accumulator("codebook(nf4)"), 2, workspace_->data()));
  EXPECT_THROW(run(accumulator("fp16", {SumMethod::fused, SumOrder::pairwise}), 2, nullptr), Error);
}

}  // namespace
}  // namespace nibble::inline kernels::accumulation
