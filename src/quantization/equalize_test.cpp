// SPDX-License-Identifier: Apache-2.0
#include "quantization/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

// Channels of very different sizes, which the next layer makes up for.
Model uneven_model(const Network& network) {
  Model model = random_model(network);
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const auto values = model.parameters[p].as<float>();
    const auto rows = static_cast<std::size_t>(model.parameters[p].shape()[0]);
    const std::size_t row = values.size() / rows;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= std::ldexp(1.0F, static_cast<int>((i / row) % 7) - 3);
    }
  }
  return model;
}

// The largest and the least of the channels' largest magnitudes.
float unevenness(std::span<const float> weights, std::size_t rows) {
  float least = INFINITY;
  float most = 0;
  const std::size_t row = weights.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    float here = 0;
    for (const float w : weights.subspan(r * row, row)) here = std::max(here, std::abs(w));
    least = std::min(least, here);
    most = std::max(most, here);
  }
  return most / least;
}

TEST(Equalize, ChannelsBecomeLikeAndAnswersStay) {
  const Network network = chain(
      {8, 8, 3}, {Conv2d{.channels = 8, .has_bias = true}, Relu{},
                  Conv2d{.channels = 8, .padding = {1, 1}, .groups = 8, .has_bias = true}, Relu{},
                  MaxPool{}, Conv2d{.channels = 12, .groups = 2, .has_bias = true}, Relu{},
                  Flatten{}, Linear{.features = 5, .has_bias = true}, SoftmaxCrossEntropy{}});
  Model model = uneven_model(network);
  Model even = equalized(copy_of(model));
  EXPECT_EQ(even.network, model.network);
  expect_same_answers(model, even);
  for (const char* name : {"n1.weight", "n3.weight", "n6.weight"}) {
    const auto before = parameter(model, name);
    const auto after = parameter(even, name);
    const std::size_t rows = name[1] == '6' ? 12 : 8;
    EXPECT_LT(unevenness(after, rows), 0.5F * unevenness(before, rows)) << name;
  }
}

TEST(Equalize, FactorsSettleWhereBothSidesAreAlike) {
  const Network network = chain({3}, {Linear{.features = 4}, Relu{}, Linear{.features = 2}});
  Model even = equalized(uneven_model(network));
  const auto first = parameter(even, "n1.weight");
  const auto second = parameter(even, "n3.weight");
  for (std::size_t c = 0; c < 4; ++c) {
    const float before =
        std::max({std::abs(first[3 * c]), std::abs(first[3 * c + 1]), std::abs(first[3 * c + 2])});
    const float after = std::max(std::abs(second[c]), std::abs(second[4 + c]));
    EXPECT_NEAR(before / after, 1.0F, 2e-3F) << c;
  }
}

TEST(Equalize, NoBiasOutgrowsTheLargestOfItsLayer) {
  const Network network =
      chain({3}, {Linear{.features = 4, .has_bias = true}, Relu{}, Linear{.features = 2}});
  Model model = uneven_model(network);
  for (float& w : parameter(model, "n1.weight").first(3)) w *= 1e-6F;
  std::ranges::copy(std::vector<float>{0.5F, 0.25F, -1.0F, 0.0F},
                    parameter(model, "n1.bias").begin());
  Model even = equalized(copy_of(model));
  for (const float b : parameter(even, "n1.bias")) EXPECT_LE(std::abs(b), 1.0F);
  expect_same_answers(model, even);
}

TEST(Equalize, AChannelOfZerosIsLeftAlone) {
  const Network network = chain({3}, {Linear{.features = 4}, Relu{}, Linear{.features = 2}});
  Model model = uneven_model(network);
  std::ranges::fill(parameter(model, "n1.weight").first(3), 0.0F);
  Model even = equalized(copy_of(model));
  EXPECT_EQ(parameter(even, "n3.weight")[0], parameter(model, "n3.weight")[0]);
  expect_same_answers(model, even);
}

TEST(Equalize, Relu6EndsAChainUnlessItMayBeReplaced) {
  const Network network = chain({3}, {Linear{.features = 4}, Relu6{}, Linear{.features = 2}});
  const Model model = uneven_model(network);
  EXPECT_EQ(weights_hash(equalized(copy_of(model))), weights_hash(model));
  const Model replaced = equalized(copy_of(model), {.replaces_relu6 = true});
  EXPECT_TRUE(is<Relu>(replaced.network.nodes[2].op));
  EXPECT_NE(weights_hash(replaced), weights_hash(model));
}

TEST(Equalize, AValueWithTwoReadersEndsAChain) {
  Network network = chain({4}, {Linear{.features = 4}, Relu{}, Linear{.features = 4}});
  network.nodes.push_back({.name = "add", .op = Add{}, .inputs = {2, 3}});
  const Model model = uneven_model(network);
  EXPECT_EQ(weights_hash(equalized(copy_of(model))), weights_hash(model));
}

}  // namespace
}  // namespace nibble::inline quantization
