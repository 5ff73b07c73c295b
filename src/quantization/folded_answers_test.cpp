// SPDX-License-Identifier: Apache-2.0
#include "graph/batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FoldBatchNorm, ProductsTakeTheirBatchNorms) {
  const Network network = chain(
      {6, 6, 4}, {Conv2d{.channels = 8, .padding = {1, 1}}, BatchNorm{}, Relu{},
                  Conv2d{.channels = 8, .groups = 8, .has_bias = true}, BatchNorm{.epsilon = 0.1F},
                  Flatten{}, Linear{.features = 5}, BatchNorm{}, SoftmaxCrossEntropy{}});
  const Model model = random_model(network);
  const Model folded = fold_batch_norm(copy_of(model));
  EXPECT_THAT(node_names(folded.network), ElementsAre("input", "n1", "n3", "n4", "n6", "n7", "n9"));
  EXPECT_TRUE(std::get<Linear>(folded.network.nodes[5].op).has_bias);
  expect_same_answers(model, folded);
}

TEST(FoldBatchNorm, ABatchNormElsewhereIsADepthwiseProduct) {
  const Network network =
      chain({4, 4, 3}, {BatchNorm{}, Conv2d{.channels = 4}, Relu{}, BatchNorm{}, Flatten{}});
  const Model model = random_model(network);
  const Model folded = fold_batch_norm(copy_of(model));
  EXPECT_THAT(node_names(folded.network), ElementsAre("input", "n1", "n2", "n3", "n4", "n5"));
  EXPECT_EQ(std::get<Conv2d>(folded.network.nodes[4].op),
            (Conv2d{.channels = 4, .kernel = {1, 1}, .groups = 4, .has_bias = true}));
  expect_same_answers(model, folded);
}

TEST(FoldBatchNorm, AProductWithASecondReaderKeepsItsWeights) {
  Network network = chain({4, 4, 3}, {Conv2d{.channels = 4, .padding = {1, 1}}, BatchNorm{}});
  network.nodes.push_back({.name = "add", .op = Add{}, .inputs = {1, 2}});
  const Model model = random_model(network);
  const Model folded = fold_batch_norm(copy_of(model));
  EXPECT_THAT(node_names(folded.network), ElementsAre("input", "n1", "n2", "add"));
  expect_same_answers(model, folded);
}

TEST(FoldBatchNorm, BiasesAndBatchNormsInARowGoIntoOneProduct) {
  const Network network =
      chain({4, 4, 3}, {Conv2d{.channels = 4}, Bias{}, BatchNorm{}, BatchNorm{}, Relu{}, Bias{},
                        Flatten{}, Linear{.features = 3}, Bias{}});
  const Model model = random_model(network);
  const Model folded = fold_batch_norm(copy_of(model));
  EXPECT_THAT(node_names(folded.network), ElementsAre("input", "n1", "n5", "n6", "n7", "n8"));
  expect_same_answers(model, folded);
}

TEST(FoldBatchNorm, WeightsThatAreRoundedAreRefused) {
  const Model model =
      random_model(chain({5}, {Linear{.features = 2, .weight_steps = 1}, BatchNorm{}}));
  EXPECT_THAT(error_of([&] { fold_batch_norm(copy_of(model)); }),
              HasSubstr("'n1' (linear): weight_steps: got 1"));
}

TEST(FoldBatchNorm, DropoutsGo) {
  const Network network =
      chain({5}, {Linear{.features = 4}, Dropout{}, BatchNorm{}, Relu{}, Dropout{}});
  const Model model = random_model(network);
  const Model folded = fold_batch_norm(copy_of(model));
  EXPECT_THAT(node_names(folded.network), ElementsAre("input", "n1", "n4"));
  expect_same_answers(model, folded);
}

TEST(FoldBatchNorm, ABatchNormOfAVectorGoesIntoTheLinearLayerBehindIt) {
  const Model model =
      random_model(chain({5}, {BatchNorm{}, Linear{.features = 4}, Relu{}, BatchNorm{},
                               Linear{.features = 3, .has_bias = true}}));
  const Model folded = fold_batch_norm(copy_of(model));
  EXPECT_THAT(node_names(folded.network), ElementsAre("input", "n2", "n3", "n5"));
  expect_same_answers(model, folded);
}

TEST(FoldBatchNorm, ABatchNormOfAVectorElsewhereIsRefusedByName) {
  const Model model = random_model(chain({5}, {Relu{}, BatchNorm{}}));
  EXPECT_THAT(error_of([&] { fold_batch_norm(copy_of(model)); }), HasSubstr("'n2' (batch_norm)"));
}

TEST(FoldBatchNorm, AVarianceBelowZeroIsRefused) {
  Model model = random_model(chain({5}, {Linear{.features = 2}, BatchNorm{}}));
  parameter(model, "n2.variance")[1] = -1;
  EXPECT_THAT(error_of([&] { fold_batch_norm(copy_of(model)); }),
              HasSubstr("variance of channel 1: got -1"));
}

}  // namespace
}  // namespace nibble::inline quantization
