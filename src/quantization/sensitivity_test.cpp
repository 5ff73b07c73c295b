// SPDX-License-Identifier: Apache-2.0
#include "quantization/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "quantization/bit_plan.h"
#include "quantization/quantize_test_support.h"
#include "quantization/weight_steps.h"

namespace nibble::inline quantization {
namespace {

using testing::HasSubstr;

// A residual block, so that a layer does not run from its own input.
Network three_layer_network() {
  const Conv2d conv{.channels = 4, .padding = {1, 1}};
  Network network = chain({5, 5, 2}, {conv, Relu{}, conv});
  network.nodes.push_back({.name = "add", .op = Add{}, .inputs = {2, 3}});
  network.nodes.push_back({.name = "pool", .op = GlobalAveragePool{}, .inputs = {4}});
  network.nodes.push_back({.name = "fc", .op = Linear{.features = 3}, .inputs = {5}});
  network.nodes.push_back({.name = "loss", .op = SoftmaxCrossEntropy{}, .inputs = {6}});
  return network;
}

// Mean squared difference of answers with that weight rounded and without.
double noise_by_hand(const Model& model, const std::string& name, const IntegerGrid& grid,
                     const std::vector<Tensor>& batches) {
  Model other = copy_of(model);
  for (std::size_t p = 0; p < other.parameters.size(); ++p) {
    if (parameters_of(model.network)[p].name != name + ".weight") continue;
    const auto steps =
        weight_steps(name, model.parameters[p].view(), true, grid, WeightMethod::mse);
    const auto weights = other.parameters[p].as<float>();
    const std::size_t run = weights.size() / steps.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = fake_quantized(weights[i], steps[i / run], grid);
    }
  }
  double sum = 0;
  double count = 0;
  for (const Tensor& batch : batches) {
    const Tensor x = answers_of(model, batch.view());
    const Tensor y = answers_of(other, batch.view());
    for (std::size_t i = 0; i < x.as<float>().size(); ++i) {
      const double r = double{x.as<float>()[i]} - double{y.as<float>()[i]};
      sum += r * r;
      count += 1;
    }
  }
  return sum / count;
}

TEST(Sensitivity, IsTheNoiseOfOneRoundedWeight) {
  const Model model = random_model(three_layer_network());
  std::vector<Tensor> batches;
  batches.push_back(random_batch(model.network, 5));
  batches.push_back(random_batch(model.network, 2));
  const std::vector<int> bits = {2, 8, 4};
  const auto layers = scan_sensitivity(model, {}, batches, bits);
  ASSERT_EQ(layers.size(), 3U);
  for (const LayerSensitivity& layer : layers) {
    ASSERT_EQ(layer.choices.size(), 3U);
    EXPECT_EQ(layer.choices[0].bits, 8);
    EXPECT_EQ(layer.choices[2].bits, 2);
    const double expected = noise_by_hand(model, layer.name, {-8, 7}, batches);
    EXPECT_GT(expected, 0);
    EXPECT_NEAR(layer.choices[1].noise, expected, 1e-4 * expected) << layer.name;
    EXPECT_GT(layer.choices[0].sqnr, layer.choices[1].sqnr + 10);
    EXPECT_GT(layer.choices[1].sqnr, layer.choices[2].sqnr);
  }
  EXPECT_EQ(layers[0].name, "n1");
  EXPECT_EQ(layers[0].choices[0].bytes, 72);
  EXPECT_EQ(layers[0].choices[1].bytes, 36);
}

TEST(Sensitivity, FixedLayersHaveOneChoice) {
  const Model model = random_model(three_layer_network());
  std::vector<Tensor> batches;
  batches.push_back(random_batch(model.network, 2));
  const QuantizeSettings settings{.bits = {}, .layers = {{"n3", {3, 0}}}, .edge_bits = 7};
  const auto layers = scan_sensitivity(model, settings, batches, std::vector<int>{8, 4});
  for (const LayerSensitivity& layer : layers) {
    ASSERT_EQ(layer.choices.size(), 1U) << layer.name;
    EXPECT_EQ(layer.choices[0].bits, layer.name == "n3" ? 3 : 7);
  }
}

TEST(Sensitivity, TablesHaveALineALayer) {
  const std::vector<LayerSensitivity> layers = {
      {"a", {{8, 10, 0, std::numeric_limits<double>::infinity()}, {4, 5, 0.25, 12.34}}},
      {"long-name", {{8, 7, 0.5, 3}}}};
  EXPECT_EQ(sensitivity_text(layers),
            "SQNR of the answer in dB, one weight rounded\n"
            "layer        int8    int4       bytes\n"
            "a           exact    12.3          10\n"
            "long-name     3.0                   7\n");
  EXPECT_THAT(sensitivity_json(layers),
              HasSubstr(R"({"bits":8,"bytes":10,"noise":0.0,"sqnr_db":"inf"})"));
}

// Bytes and noise of 8 and 4 bits.
LayerSensitivity layer_of(const std::string& name, std::int64_t bytes, double noise) {
  return {name, {{8, bytes, 0, 0}, {4, bytes / 2, noise, 0}, {3, bytes / 2, 2 * noise, 0}}};
}

TEST(Sensitivity, BytesAreThoseOfFilesOrOfMemory) {
  EXPECT_EQ(weight_bytes(3 * 9, 8), 27);
  EXPECT_EQ(weight_bytes(3 * 9, 3), 11);
  EXPECT_EQ(held_bytes({3, 9}, 8), 27);
  EXPECT_EQ(held_bytes({3, 9}, 5), 27);
  EXPECT_EQ(held_bytes({3, 9}, 4), 15);
  EXPECT_EQ(held_bytes({3, 1, 3, 3}, 2), 15);
}

TEST(BitPlan, TakesBitsWhereTheyCostTheLeast) {
  const std::vector<LayerSensitivity> layers = {
      layer_of("dear", 100, 50), layer_of("cheap", 1000, 5), layer_of("middle", 200, 2)};
  const std::vector<BitPlan> plans = bit_plans(layers);
  ASSERT_EQ(plans.size(), 4U);  // 3 bits save nothing over 4
  EXPECT_EQ(plans[0].bytes, 1300);
  EXPECT_EQ(plans[1].bytes, 800);
  EXPECT_EQ(plans[1].layers.at("cheap").weights, 4);
  EXPECT_EQ(plans[2].bytes, 700);
  EXPECT_EQ(plans[3].bytes, 650);
  EXPECT_EQ(plans[3].noise, 57);
  EXPECT_EQ(bit_plan_text(plans[2]), "700 bytes of weights, layers: 1 int8, 2 int4");
}

TEST(BitPlan, RoomThatIsLeftIsUsed) {
  const std::vector<LayerSensitivity> layers = {layer_of("small", 100, 1),
                                                layer_of("large", 1000, 30)};
  const BitPlan plan = choose_bits(layers, 600);  // small first, then large, and small came back
  EXPECT_EQ(plan.layers.at("small").weights, 8);
  EXPECT_EQ(plan.layers.at("large").weights, 4);
  EXPECT_EQ(plan.bytes, 600);
  EXPECT_EQ(choose_bits(layers, 1 << 20).noise, 0);
  EXPECT_THAT(error_of([&] { (void)choose_bits(layers, 549); }),
              HasSubstr("size of all weights: got 549 bytes, expected 550 or more"));
}

}  // namespace
}  // namespace nibble::inline quantization
