// SPDX-License-Identifier: Apache-2.0
// Tests of parameters, products and the hash of the weights.
#include "graph/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/hash.h"
#include "graph/graph_test_support.h"
#include "nibble/core/limits.h"

namespace nibble::inline graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Network mixed() {
  return chain({8, 8, 4}, {Conv2d{.channels = 6, .groups = 2, .has_bias = true}, BatchNorm{},
                           Bias{}, Flatten{}, Linear{.features = 5, .has_bias = true}});
}

TEST(Parameters, AreNamedByNodeAndKind) {
  std::vector<std::string> lines;
  for (const Parameter& p : parameters_of(mixed())) {
    lines.push_back(std::to_string(p.node) + " " + p.name + " " + std::string(p.kind) + " " +
                    p.shape.to_string() + (p.is_trained ? "" : " kept"));
  }
  EXPECT_THAT(lines, ElementsAre("1 n1.weight weight (6, 3, 3, 2)", "1 n1.bias bias (6,)",
                                 "2 n2.scale scale (6,)", "2 n2.shift shift (6,)",
                                 "2 n2.mean mean (6,) kept", "2 n2.variance variance (6,) kept",
                                 "3 n3.bias bias (6,)", "5 n5.weight weight (5, 216)",
                                 "5 n5.bias bias (5,)"));
}

TEST(Parameters, ProductsAreThoseOfTheWeights) {
  EXPECT_THAT(multiply_accumulates(mixed()),
              ElementsAre(0, 6 * 6 * 6 * 3 * 3 * 2, 0, 0, 0, 5 * 216));
}

TEST(Parameters, TooManyProductsAreRefused) {
  const LimitsScope scope(parse_limits("values=64G"));
  const Network network = chain(
      {60000, 60000, 1}, {Conv2d{.channels = 16, .kernel = {999, 999}, .padding = {499, 499}}});
  EXPECT_THAT(error_of([&] { (void)multiply_accumulates(network); }),
              HasSubstr("node 'n1' (conv2d): multiply-accumulates, with all before it: got "
                        "57600000000 · 998001, expected at most 4398046511104 (limit 'macs'"));
}

TEST(WeightsHash, DependsOnEveryPartOfAModel) {
  const Model model = counted_model(mixed());
  const std::uint64_t hash = weights_hash(model);
  EXPECT_EQ(weights_hash(counted_model(mixed())), hash);

  Model other = counted_model(mixed());
  other.parameters[0].as<float>()[5] += 1;
  EXPECT_NE(weights_hash(other), hash);

  Network renamed = mixed();
  renamed.nodes[1].name = "conv1";
  EXPECT_NE(weights_hash(counted_model(renamed)), hash);

  Model typed = counted_model(mixed());
  Tensor integers(DType::i32, typed.parameters[1].shape());
  std::copy_n(typed.parameters[1].data(), integers.bytes(), integers.data());
  typed.parameters[1] = std::move(integers);
  EXPECT_NE(weights_hash(typed), hash);
}

TEST(WeightsHash, IsThatOfTheBytesInTheDocumentation) {
  const Model model = counted_model(chain({2}, {Linear{.features = 1}}));
  Hasher hasher;
  hasher.add(std::string_view("n1.weight\0f32\0(1, 2)\0", 21));
  const float values[] = {-0.75F, -0.5F};
  hasher.add(std::span<const float>(values));
  EXPECT_EQ(weights_hash(model), hasher.value());
}

TEST(WeightsHash, ATensorThatDoesNotFitIsNamed) {
  Model model = counted_model(mixed());
  model.parameters[7] = Tensor(DType::f32, {5, 215});
  EXPECT_EQ(error_of([&] { weights_hash(model); }),
            "[model] shape of n5.weight: got (5, 215), expected (5, 216)");
  model.parameters.pop_back();
  EXPECT_EQ(error_of([&] { weights_hash(model); }),
            "[model] parameters of chain: got 8, expected 9");
}

}  // namespace
}  // namespace nibble::inline graph
