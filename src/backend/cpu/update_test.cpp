// SPDX-License-Identifier: Apache-2.0
// The update rule by hand, and every fast path against it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/block_test_support.h"
#include "backend/cpu/cpu_weights.h"

namespace nibble::inline backend {
namespace {

using reference::Sums;
using ::testing::ElementsAre;

WeightData tensor_of(const std::vector<int>& mantissas) {
  WeightData tensor;
  tensor.mantissas = Tensor(DType::i8, {static_cast<std::int64_t>(mantissas.size())});
  for (std::size_t i = 0; i < mantissas.size(); ++i)
    tensor.mantissas.as<std::int8_t>()[i] = static_cast<std::int8_t>(mantissas[i]);
  return tensor;
}

// The memory that an update rule needs.
void prepare(WeightData& tensor, const ShiftUpdate& rule) {
  for (const int each : tensor.mantissas.as<std::int8_t>()) {
    if (rule.fraction_bits > 0) tensor.fine.push_back(each << rule.fraction_bits);
    if (rule.momentum > 0) tensor.momentum.push_back(0);
  }
}

GradientSums narrow(const std::vector<std::int32_t>& values) {
  return {false, values, {}};
}

GradientSums wide(const std::vector<std::int32_t>& values) {
  return {true, {}, {values.begin(), values.end()}};
}

std::vector<int> mantissas_of(const WeightData& tensor) {
  const auto values = tensor.mantissas.as<std::int8_t>();
  return {values.begin(), values.end()};
}

std::vector<int> after(const std::vector<int>& weights, const std::vector<std::int32_t>& gradient,
                       const ShiftUpdate& rule = {}) {
  WeightData tensor = tensor_of(weights);
  prepare(tensor, rule);
  update(tensor, narrow(gradient), rule, {});
  WeightData other = tensor_of(weights);
  prepare(other, rule);
  update(other, wide(gradient), rule, {});
  EXPECT_EQ(mantissas_of(tensor), mantissas_of(other)) << "wide";
  EXPECT_EQ(tensor.record.moved, other.record.moved);
  EXPECT_EQ(tensor.record.shift, other.record.shift);
  return mantissas_of(tensor);
}

TEST(Update, AGradientOfOnesIsDropped) {
  EXPECT_THAT(after({5, -5, 0}, {1, -1, 0}), ElementsAre(5, -5, 0));
  EXPECT_THAT(after({5, -5, 0}, {0, 0, 0}), ElementsAre(5, -5, 0));
  EXPECT_THAT(after({5, -5, 0}, {2, -1, 0}), ElementsAre(3, -4, 0));
}

TEST(Update, AGradientThatFitsIsTakenAsItIs) {
  EXPECT_THAT(after({10, 10, 10}, {32, -31, 1}), ElementsAre(-22, 41, 9));  // b = 5, s = 0
  EXPECT_THAT(after({0, 0}, {4, -3}, {.mu = 2}), ElementsAre(-4, 3));       // b = 2, s = 0
}

// 33 needs 6 bits, one goes; with s = 1 halves go away from zero.
TEST(Update, ALargerGradientLosesBitsPseudoStochastically) {
  EXPECT_THAT(after({0, 0, 0, 0}, {33, -33, 32, 3}), ElementsAre(-17, 17, -16, -2));
  // 1023 needs 10 bits, 5 go: 100 → 4 (rest 4: upper 1, lower 0·2), 107 → 3 (rest 11: 2, 3·2),
  // -100 → -4, 1023 → 31 (rest 31: 7, 3·2): 32.
  EXPECT_THAT(after({0, 0, 0, 0}, {1023, 100, 107, -100}), ElementsAre(-32, -4, -3, 4));
  EXPECT_THAT(after({0, 0, 0, 0}, {1023, 100, 107, -100}, {.mu = 3}),
              ElementsAre(-8, -1, -1, 1));  // 7 bits go: of 100 the upper half 12, the lower 4·2
}

TEST(Update, WeightsStopAtTheRails) {
  EXPECT_THAT(after({120, -120, 127, -127}, {-32, 32, -1, 1}), ElementsAre(127, -127, 127, -127));
  EXPECT_THAT(after({0, 127}, {1 << 20, -(1 << 20)}, {.mu = 7}), ElementsAre(-127, 127));
}

TEST(Update, BiasesHaveTheirOwnBits) {
  WeightData bias = tensor_of({0, 0});
  bias.is_bias = true;
  update(bias, narrow({1000, -1000}), {.mu = 5, .bias_mu = 1}, {});
  EXPECT_THAT(mantissas_of(bias), ElementsAre(-2, 2));  // 9 bits go, rest 488: upper 30, lower 8·2
  EXPECT_EQ(bias.record.shift, 9);
  EXPECT_EQ(bias.record.moved, 2);
}

TEST(Update, TellsHowManyMantissasMoved) {
  WeightData tensor = tensor_of({0, 0, 127, 5});
  update(tensor, narrow({32, 0, -20, 1}), ShiftUpdate{}, {});
  EXPECT_EQ(tensor.record.moved, 2);
  update(tensor, narrow({1, 0, -1, 1}), ShiftUpdate{}, {});
  EXPECT_EQ(tensor.record.moved, 0);
}

// m = trunc(m·8/16) + g: 20, then 10 + 20, then 15 + 0.
TEST(Update, MomentumKeepsSixteenthsOfTheLastStep) {
  const ShiftUpdate rule{.mu = 5, .momentum = 8};
  WeightData tensor = tensor_of({0, 100, 0});
  prepare(tensor, rule);
  update(tensor, narrow({20, 20, -3}), rule, {});
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(-20, 80, 3));
  update(tensor, narrow({20, 20, 0}), rule, {});
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(-50, 50, 4));  // -3·8/16 toward zero: -1
  update(tensor, narrow({1, 0, 0}), rule, {});                 // dropped, but the memory goes on
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(-65, 35, 4));
  EXPECT_THAT(tensor.momentum, ElementsAre(15, 15, 0));
}

TEST(Update, MomentumIsHeldWithinAByte) {
  const ShiftUpdate rule{.mu = 7, .momentum = 15};
  WeightData tensor = tensor_of({127});
  prepare(tensor, rule);
  for (int i = 0; i < 3; ++i) update(tensor, narrow({127}), rule, {});
  EXPECT_THAT(tensor.momentum, ElementsAre(127));
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(-127));
}

// Four fraction bits: the step is of mu + 4 bits in units of 1/16, the weight is what is rounded.
TEST(Update, FractionBitsAccumulateBelowTheUnit) {
  const ShiftUpdate rule{.mu = 1, .fraction_bits = 4};
  WeightData tensor = tensor_of({10, 10});
  prepare(tensor, rule);
  EXPECT_THAT(tensor.fine, ElementsAre(160, 160));
  update(tensor, narrow({32, 4}), rule, {});  // b = 5, s = 0
  EXPECT_THAT(tensor.fine, ElementsAre(128, 156));
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(8, 10));  // 156 = 9·16 + 12
  update(tensor, narrow({32, 4}), rule, {});
  EXPECT_THAT(tensor.fine, ElementsAre(96, 152));
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(6, 10));  // + 8: half a unit goes up
  update(tensor, narrow({32, 4}), rule, {});
  EXPECT_THAT(tensor.fine, ElementsAre(64, 148));
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(4, 9));  // + 4: down
  for (int i = 0; i < 100; ++i) update(tensor, narrow({-32, 32}), rule, {});
  EXPECT_THAT(tensor.fine, ElementsAre(127 * 16, -127 * 16));
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(127, -127));
}

// β = b - 15: a gradient of 2^17 adds w·4; below 15 bits w is divided, toward zero.
TEST(Update, DecayAddsTheWeightToTheGradient) {
  const ShiftUpdate rule{.mu = 5, .has_decay = true};
  EXPECT_THAT(after({100, -100, 50}, {1 << 17, 1 << 17, 0}, rule),
              ElementsAre(after({100, -100, 50}, {(1 << 17) + 400, (1 << 17) - 400, 200})[0],
                          after({100, -100, 50}, {(1 << 17) + 400, (1 << 17) - 400, 200})[1],
                          after({100, -100, 50}, {(1 << 17) + 400, (1 << 17) - 400, 200})[2]));
  // b = 10, β = -5: 100/32 = 3, -100/32 = -3; with 1027 the gradient needs 11 bits, 6 go.
  WeightData tensor = tensor_of({100, -100, 31});
  update(tensor, narrow({1024, -1024, 0}), rule, {});
  EXPECT_EQ(tensor.record.shift, 6);
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(84, -84, 31));
  // A gradient that is dropped takes its decay along; a bias does not decay.
  EXPECT_THAT(after({100}, {1}, rule), ElementsAre(100));
  WeightData bias = tensor_of({100});
  bias.is_bias = true;
  update(bias, narrow({1 << 16}), {.bias_mu = 0, .has_decay = true}, {});
  EXPECT_THAT(mantissas_of(bias), ElementsAre(99));
}

TEST(Update, RoundsAsTheTensorSays) {
  WeightData tensor = tensor_of({0, 0, 0});
  tensor.rounding = ShiftRounding::nearest;
  update(tensor, narrow({1024, 47, 48}), ShiftUpdate{}, {});  // s = 5
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(-32, -1, -2));
  tensor = tensor_of({0, 0, 0});
  tensor.rounding = ShiftRounding::stochastic;
  tensor.stream = 77;
  update(tensor, narrow({1024, 47, 48}), ShiftUpdate{}, {9, 1, 4});
  const RandomKey key{9, 77, 4};
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(mantissas_of(tensor)[i], -shift_stochastic(i == 1 ? 47 : 48, 5, draw32(key, i)));
  }
}

// Longer than a chunk; the plain rule is a fast path, the others are the definition.
TEST(Update, FastPathsAreTheDefinitionWithAnyNumberOfThreads) {
  constexpr std::size_t kCount = 10'001;
  for (const int most : {1, 31, 127, 5000, 2'000'000'000}) {
    Draws draws(static_cast<std::uint64_t>(most));
    std::vector<int> weights;
    std::vector<std::int32_t> gradient;
    Sums sums;
    for (std::size_t i = 0; i < kCount; ++i) {
      weights.push_back(draws.in(-127, 127));
      gradient.push_back(draws.in(0, 1) == 0 ? draws.in(0, most) : -draws.in(0, most));
      sums.push_back(gradient.back());
    }
    for (const int mu : {-2, 0, 5, 7}) {
      std::vector<std::int8_t> wanted(weights.begin(), weights.end());
      reference::move(wanted, sums, mu);
      on_every_path([&] {
        EXPECT_EQ(after(weights, gradient, {.mu = mu}),
                  std::vector<int>(wanted.begin(), wanted.end()));
      });
    }
  }
}

TEST(Update, AGradientBeyondInt32IsExact) {
  WeightData tensor = tensor_of({0, 0, 0});
  const std::int64_t large = std::int64_t{1} << 40;
  update(tensor, {true, {}, {large, -large / 2, large / 64}}, ShiftUpdate{}, {});
  EXPECT_EQ(tensor.record.shift, 35);
  EXPECT_THAT(mantissas_of(tensor), ElementsAre(-32, 16, -1));  // 0.5: its upper half is above 0
}

}  // namespace
}  // namespace nibble::inline backend
