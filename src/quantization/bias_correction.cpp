// SPDX-License-Identifier: Apache-2.0
// Means of channels, float and quantized.
#include "quantization/passes.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/model_parts.h"
#include "nibble/float_training/forward.h"
#include "quantization/quantization_points.h"
#include "quantization/stretches.h"

namespace nibble::inline quantization {
namespace {

class ChannelMeans {
 public:
  void add(ConstTensorView value) {
    const auto values = value.as<float>();
    const auto channels = static_cast<std::size_t>(value.shape()[value.shape().rank() - 1]);
    sums_.resize(channels);
    for (std::size_t i = 0; i < values.size(); i += channels) {
      for (std::size_t c = 0; c < channels; ++c) sums_[c] += static_cast<double>(values[i + c]);
    }
    places_ += static_cast<double>(values.size() / channels);
  }
  double operator[](std::size_t channel) const { return sums_[channel] / places_; }

 private:
  std::vector<double> sums_;
  double places_ = 0;
};

using MeansByName = std::map<std::string, ChannelMeans>;

MeansByName means_of_products(const Model& model, const FloatBatches& batches) {
  MeansByName means;
  batches.for_each([&](ConstTensorView batch) {
    (void)answers_of(model, batch, [&](std::size_t i, ConstTensorView value) {
      const Node& node = model.network.nodes[i];
      if (is_product(node.op)) means[node.name].add(value);
    });
  });
  return means;
}

}  // namespace

Model with_corrected_biases(const Model& floating, Model quantized, const FloatBatches& batches) {
  const MeansByName exact = means_of_products(floating, batches);
  Network network = quantized.network;
  ParametersByName parameters = take_parameters(std::move(quantized));
  const Stretches stretches(network, parameters);
  const std::vector<std::size_t> narrow = narrow_places(network);
  std::size_t begin = 0;  // where `values` are, once they are
  FloatBatches values;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    Node& node = network.nodes[i];
    const auto mean = exact.find(node.name);
    if (!is_product(node.op) || mean == exact.end()) continue;
    if (narrow[i] != begin) {
      values = answers_to(stretches.between(begin, narrow[i]), begin == 0 ? batches : values);
      begin = narrow[i];
    }
    const std::span<float> bias = bias_of(node, parameters);
    const Model part = stretches.between(begin, i);
    ChannelMeans rounded;
    (begin == 0 ? batches : values).for_each([&](ConstTensorView batch) {
      rounded.add(answers_of(part, batch).view());
    });
    for (std::size_t c = 0; c < bias.size(); ++c) {
      bias[c] = static_cast<float>(static_cast<double>(bias[c]) + mean->second[c] - rounded[c]);
    }
  }
  return model_of(std::move(network), std::move(parameters));
}

}  // namespace nibble::inline quantization
