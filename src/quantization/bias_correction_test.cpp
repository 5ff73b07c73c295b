// SPDX-License-Identifier: Apache-2.0
#include "quantization/passes.h"

#include <gtest/gtest.h>

#include "nibble/float_training/forward.h"
#include "quantization/quantize_test_support.h"

namespace nibble::inline quantization {
namespace {

// The mean of each channel of the node with that name.
std::vector<double> means_of(const Model& model, std::string_view name,
                             const std::vector<Tensor>& batches) {
  const std::size_t wanted = find_node(model.network, name);
  std::vector<double> sums;
  double places = 0;
  for (const Tensor& batch : batches) {
    (void)answers_of(model, batch.view(), [&](std::size_t node, ConstTensorView value) {
      if (node != wanted) return;
      const auto values = value.as<float>();
      const auto channels = static_cast<std::size_t>(value.shape()[value.shape().rank() - 1]);
      sums.resize(channels);
      for (std::size_t i = 0; i < values.size(); ++i) {
        sums[i % channels] += static_cast<double>(values[i]);
      }
      places += static_cast<double>(values.size() / channels);
    });
  }
  for (double& each : sums) each /= places;
  return sums;
}

// A residual block of two products, so that its middle is no place where all paths meet.
Network branched_network() {
  const Conv2d conv{.channels = 4, .padding = {1, 1}};
  Network network = chain({6, 6, 3}, {Conv2d{.channels = 4, .padding = {1, 1}, .has_bias = true},
                                      Relu{}, conv, Relu{}, conv});
  network.nodes.push_back({.name = "add", .op = Add{}, .inputs = {2, 5}});
  network.nodes.push_back({.name = "pool", .op = GlobalAveragePool{}, .inputs = {6}});
  network.nodes.push_back({.name = "fc", .op = Linear{.features = 3}, .inputs = {7}});
  network.nodes.push_back({.name = "loss", .op = SoftmaxCrossEntropy{}, .inputs = {8}});
  return network;
}

// Weights rounded downwards, which shifts every mean.
Model rounded_down(const Model& model) {
  Model rounded = copy_of(model);
  for (Tensor& tensor : rounded.parameters) {
    for (float& x : tensor.as<float>()) x = std::floor(x * 4) / 4;
  }
  return rounded;
}

TEST(BiasCorrection, MeansOfProductsComeBack) {
  const Model model = random_model(branched_network());
  std::vector<Tensor> batches;
  batches.push_back(random_batch(model.network, 8));
  batches.push_back(random_batch(model.network, 3));
  const Model rounded = rounded_down(model);
  const Model corrected = with_corrected_biases(model, copy_of(rounded), batches);
  EXPECT_TRUE(std::get<Linear>(corrected.network.nodes[8].op).has_bias);
  EXPECT_EQ(node_names(corrected.network), node_names(model.network));
  for (const char* name : {"n1", "n3", "n5", "fc"}) {
    const std::vector<double> exact = means_of(model, name, batches);
    const std::vector<double> before = means_of(rounded, name, batches);
    const std::vector<double> after = means_of(corrected, name, batches);
    for (std::size_t c = 0; c < exact.size(); ++c) {
      EXPECT_GT(std::abs(before[c] - exact[c]), 1e-3) << name << c;
      EXPECT_NEAR(after[c], exact[c], 1e-5) << name << c;
    }
  }
}

TEST(BiasCorrection, WeightsStay) {
  const Model model = random_model(branched_network());
  std::vector<Tensor> batches;
  batches.push_back(random_batch(model.network, 2));
  Model rounded = rounded_down(model);
  Model corrected = with_corrected_biases(model, copy_of(rounded), batches);
  for (const char* name : {"n1.weight", "n3.weight", "n5.weight", "fc.weight"}) {
    EXPECT_TRUE(std::ranges::equal(parameter(corrected, name), parameter(rounded, name))) << name;
  }
}

TEST(BiasCorrection, FakeQuantizedTwinsAreFoundByName) {
  const Model model = random_model(chain({5}, {Linear{.features = 4}, Relu{}}));
  Network network = chain({5}, {Linear{.features = 4}, Relu{}});
  network.nodes.insert(network.nodes.begin() + 1,
                       {.name = "q", .op = FakeQuantize{.low = -2, .high = 1}, .inputs = {0}});
  network.nodes[2].inputs = {1};
  network.nodes[3].inputs = {2};
  Model twin = random_model(network);
  std::ranges::copy(model.parameters[0].as<float>(), parameter(twin, "n1.weight").begin());
  parameter(twin, "q.step")[0] = 0.5F;
  std::vector<Tensor> batches;
  batches.push_back(random_batch(model.network, 16));
  const Model corrected = with_corrected_biases(model, copy_of(twin), batches);
  const std::vector<double> exact = means_of(model, "n1", batches);
  const std::vector<double> after = means_of(corrected, "n1", batches);
  EXPECT_GT(std::abs(means_of(twin, "n1", batches)[0] - exact[0]), 1e-3);
  for (std::size_t c = 0; c < exact.size(); ++c) EXPECT_NEAR(after[c], exact[c], 1e-5);
}

}  // namespace
}  // namespace nibble::inline quantization
