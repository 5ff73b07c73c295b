// SPDX-License-Identifier: Apache-2.0
#include "graph/integer_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/test_support.h"
#include "graph/batch_norm.h"
#include "graph/defined_network.h"
#include "graph/test_network_maker.h"
#include "laws/rescale.h"
#include "nibble/graph/integer_bounds.h"

namespace nibble::inline graph {
namespace {

// One number times one weight, and a bias: value = mantissa·2^exponent of each.
Model product_model(int products, int biases, int value, std::int64_t bias) {
  NetworkMaker maker({1}, int8_of(0));
  maker.add(Linear{.features = 1, .has_bias = true});
  maker.with(tensor_of<std::int8_t>({1, 1}, {127}));
  maker.with(tensor_of<std::int8_t>({1}, {bias}));
  Model model = maker.model();
  model.network.nodes[1].weight = int8_of(products);
  model.network.nodes[1].bias = int8_of(biases);
  model.network.nodes[1].value = int8_of(value);
  return model;
}

Model bias_model(int input, int biases, int value, std::int64_t bias) {
  NetworkMaker maker({1}, int8_of(input));
  maker.add(Linear{.features = 1});  // so that the network has frozen shifts
  maker.with(tensor_of<std::int8_t>({1, 1}, {1}));
  maker.add(Bias{});
  maker.with(tensor_of<std::int8_t>({1}, {bias}));
  Model model = maker.model();
  model.network.nodes[1].weight = int8_of(0);
  model.network.nodes[1].value = int8_of(input);
  model.network.nodes[2].bias = int8_of(biases);
  model.network.nodes[2].value = int8_of(value);
  return model;
}

std::int64_t answer(const Model& form, std::int64_t x) {
  return DefinedNetwork(form).values({x}).back()[0];
}

std::int64_t clamped(std::int64_t x) {
  return std::clamp<std::int64_t>(x, -127, 127);
}

// docs/integer-training.md: c = max(min(P, B), P - 28), 2^(P - c)·Σ + 2^h·b, h = B - c in 0 … 28.
TEST(IntegerForm, AddsABiasOfAnyExponentInsideAProduct) {
  for (const int biases : {-40, -28, -13, -2, -1, 0, 1, 9}) {
    for (const std::int64_t bias : {-127, -64, -1, 0, 1, 3, 64, 127}) {
      for (const int value : {1, 7}) {
        const Model form = integer_form(product_model(0, biases, value, bias));
        EXPECT_TRUE(prove_bounds(form).back().value.is_within(-127, 127));
        const int common = std::max(std::min(0, biases), -28);
        const int raise = std::clamp(biases - common, 0, 28);
        for (std::int64_t x = -127; x <= 127; ++x) {
          const std::int64_t sum = (x * 127 << -common) + (bias << raise);
          ASSERT_EQ(answer(form, x), clamped(rounded_shift(sum, value - common)))
              << x << " " << bias << " " << biases << " " << value;
        }
      }
    }
  }
}

TEST(IntegerForm, AddsABiasOfAnyExponentToAValue) {
  for (const int biases : {-40, -30, -24, -7, -1, 0, 3}) {
    for (const std::int64_t bias : {-127, -64, -1, 0, 1, 3, 64, 127}) {
      for (const int value : {1, 4}) {
        const Model form = integer_form(bias_model(0, biases, value, bias));
        const int common = std::min(0, biases);
        for (std::int64_t x = -127; x <= 127; ++x) {
          const std::int64_t sum = (x << -common) + (bias << (biases - common));
          ASSERT_EQ(answer(form, x), clamped(rounded_shift(sum, value - common)))
              << x << " " << bias << " " << biases << " " << value;
        }
      }
    }
  }
}

TEST(IntegerForm, LeavesAValueOutThatIsFarBelowItsBias) {
  const Model form = integer_form(bias_model(-41, 0, 0, 5));
  EXPECT_EQ(answer(form, 127), 5);
}

// What is lifted stays within 32 bits, however far below the sums a bias lies.
TEST(IntegerForm, KeepsLiftedSumsSmall) {
  for (const NodeBounds& bounds : prove_bounds(integer_form(product_model(0, -28, 7, 127)))) {
    EXPECT_TRUE(bounds.value.is_within(-100000, 100000));
  }
}

// 300 weights of 127 have sums of 23 bits, so that a norm's bias counts in 2^8 of them.
Model normalized_model(std::int64_t scale, std::int64_t shift, std::int64_t deviation) {
  NetworkMaker maker({300}, int8_of(0));
  maker.add(Linear{.features = 2});
  maker.with(tensor_of<std::int8_t>({2, 300}, Integers(600, 127)));
  maker.add(BatchNorm{});
  maker.with(tensor_of<std::int32_t>({2}, {scale, 1 << 16}));
  maker.with(tensor_of<std::int32_t>({2}, {shift, 0}));
  maker.with(tensor_of<std::int64_t>({2}, {0, 0}));
  maker.with(tensor_of<std::int64_t>({2}, {deviation * deviation, deviation * deviation}));
  Model model = maker.model();
  model.network.nodes[1].weight = int8_of(0);
  model.network.nodes[2].value = int8_of(0);
  return model;
}

TEST(IntegerForm, CountsTheChannelsOfNormsWhoseBiasIsHeld) {
  constexpr std::int64_t kDeviation = std::int64_t{1} << 28;
  constexpr std::int64_t kScale = 1 << 10;
  constexpr std::int64_t kMost = kScale << 9;  // |β/γ|, times 2^(28 - 15 + 8), is 2^30
  for (const std::int64_t shift : {kMost, kMost + kScale, -kMost}) {
    for (const std::int64_t scale : {kScale, -kScale}) {
      const Model model = normalized_model(scale, shift, kDeviation);
      const std::vector<HeldNorm> held = held_norms(model);
      ASSERT_EQ(held.size(), 1U);
      EXPECT_EQ(held[0].name, "n2");
      EXPECT_EQ(held[0].channels, 1);
      EXPECT_EQ(held_norms_warning(held),
                "1 channel of batch norms (n2: 1) with a frozen bias held at 2^30: answers too "
                "near to 0");
      const Model form = integer_form(copy_of(model));
      EXPECT_EQ(std::abs(form.parameters[1].as<std::int32_t>()[0]), 1 << 30);
    }
  }
  EXPECT_TRUE(held_norms(normalized_model(kScale, kMost - 1, kDeviation)).empty());
  EXPECT_EQ(held_norms_warning({}), "");
  EXPECT_EQ(held_norms_warning({{"a", 2}, {"b", 1}}),
            "3 channels of batch norms (a: 2, b: 1) with a frozen bias held at 2^30: answers too "
            "near to 0");
  // What a stranger wrote into it is refused elsewhere.
  EXPECT_TRUE(held_norms(normalized_model(0, kMost, kDeviation)).empty());
}

TEST(IntegerForm, NamesAllLayersWithoutOne) {
  NetworkMaker maker({4, 4, 2}, integers_format("int8"));
  maker.add(Relu6{});
  maker.add(Dropout{});
  maker.add(FakeQuantize{});
  maker.add(GlobalAveragePool{});
  EXPECT_EQ(error_of([&] { (void)integer_form(maker.model()); }),
            "[integer network] layers without an integer form: got n1 (relu6), n3 (fake_quantize), "
            "expected none");
}

// To the nearest, ties away from zero: exact for bytes.
TEST(IntegerForm, OfMeansIsTheNearestInteger) {
  NetworkMaker maker({3, 4, 1}, integers_format("int8"));
  maker.add(Dropout{});
  maker.add(
      AveragePool{.kernel = {2, 3}, .stride = {1, 2}, .padding = {1, 1}, .counts_padding = false});
  const Model form = integer_form(maker.model());
  EXPECT_TRUE(prove_bounds(form).back().value == (Interval{-128, 127}));
  const std::int64_t rows[4][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const std::int64_t columns[2][2] = {{0, 2}, {1, 4}};
  Dice dice(3);
  for (int i = 0; i < 1000; ++i) {
    const Integers x = dice.many(12, -128, 127);
    const Integers y = DefinedNetwork(form).values(x).back();
    for (std::size_t w = 0; w < 8; ++w) {
      std::int64_t sum = 0, count = 0;
      for (std::int64_t r = rows[w / 2][0]; r < rows[w / 2][1]; ++r) {
        for (std::int64_t c = columns[w % 2][0]; c < columns[w % 2][1]; ++c, ++count)
          sum += x[static_cast<std::size_t>(r * 4 + c)];
      }
      const std::int64_t magnitude = (2 * std::abs(sum) + count) / (2 * count);
      ASSERT_EQ(y[w], sum < 0 ? -magnitude : magnitude) << sum << " / " << count;
    }
  }
}

}  // namespace
}  // namespace nibble::inline graph
