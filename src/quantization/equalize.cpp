// SPDX-License-Identifier: Apache-2.0
// Chains of products, and the factors that even their channels out.
#include "quantization/passes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/model_parts.h"
#include "quantization/quantization_points.h"

namespace nibble::inline quantization {
namespace {

struct Chain {
  std::size_t first = 0;
  std::size_t second = 0;
  std::vector<std::size_t> between;
};

bool passes_factors(const Op& op, bool takes_relu6) {
  return is<Relu>(op) || is<MaxPool>(op) || is<AveragePool>(op) || is<GlobalAveragePool>(op) ||
         is<Flatten>(op) || (takes_relu6 && is<Relu6>(op));
}

bool has_weight_steps(const Op& op) {
  const auto* conv = std::get_if<Conv2d>(&op);
  return conv ? conv->weight_steps > 0 : std::get<Linear>(op).weight_steps > 0;
}

std::optional<Chain> chain_from(const Network& network, std::size_t first,
                                const std::vector<std::vector<std::size_t>>& readers,
                                bool takes_relu6) {
  const auto is_plain_product = [&](std::size_t node) {
    const Op& op = network.nodes[node].op;
    return is_product(op) && !has_weight_steps(op);
  };
  if (!is_plain_product(first)) return std::nullopt;
  Chain chain{.first = first, .second = first, .between = {}};
  while (readers[chain.second].size() == 1) {
    chain.second = readers[chain.second].front();
    if (is_plain_product(chain.second)) return chain;
    if (!passes_factors(network.nodes[chain.second].op, takes_relu6)) break;
    chain.between.push_back(chain.second);
  }
  return std::nullopt;
}

// The input channel of each weight of a product whose input has this many channels. A flattened
// picture has them innermost.
std::vector<std::size_t> input_channels(const Op& op, std::span<const std::int64_t> extents,
                                        std::size_t channels) {
  const auto* conv = std::get_if<Conv2d>(&op);
  const auto outputs = static_cast<std::size_t>(extents.front());
  const auto inputs = static_cast<std::size_t>(extents.back());
  const std::size_t groups = conv ? static_cast<std::size_t>(conv->groups) : 1;
  const std::size_t places = conv ? static_cast<std::size_t>(conv->kernel.y * conv->kernel.x) : 1;
  std::vector<std::size_t> list;
  list.reserve(outputs * places * inputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::size_t group = o / (outputs / groups);
    for (std::size_t place = 0; place < places; ++place) {
      for (std::size_t i = 0; i < inputs; ++i) list.push_back((group * inputs + i) % channels);
    }
  }
  return list;
}

// The two tensors of a chain, with what belongs to each channel between them.
class Pair {
 public:
  Pair(const Network& network, const Chain& chain, ParametersByName& parameters) {
    const Node& first = network.nodes[chain.first];
    const Node& second = network.nodes[chain.second];
    const Tensor& weight = parameters[parameter_name(first, "weight")];
    Tensor& next = parameters[parameter_name(second, "weight")];
    first_ = parameters[parameter_name(first, "weight")].as<float>();
    const auto bias = parameters.find(parameter_name(first, "bias"));
    if (bias != parameters.end()) bias_ = bias->second.as<float>();
    second_ = next.as<float>();
    channels_ = static_cast<std::size_t>(weight.shape()[0]);
    channel_of_ = input_channels(second.op, next.shape().extents(), channels_);
  }

  // The largest |ln s| of a round.
  double even_out() {
    const std::size_t row = first_.size() / channels_;
    std::vector<float> before(channels_);
    std::vector<float> after(channels_);
    for (std::size_t i = 0; i < first_.size(); ++i) {
      before[i / row] = std::max(before[i / row], std::abs(first_[i]));
    }
    for (std::size_t i = 0; i < second_.size(); ++i) {
      after[channel_of_[i]] = std::max(after[channel_of_[i]], std::abs(second_[i]));
    }
    float largest_bias = 0;
    for (const float b : bias_) largest_bias = std::max(largest_bias, std::abs(b));
    std::vector<double> factors(channels_, 1.0);
    double most = 0;
    for (std::size_t c = 0; c < channels_; ++c) {
      if (before[c] == 0 || after[c] == 0) continue;
      factors[c] = std::sqrt(static_cast<double>(before[c]) / static_cast<double>(after[c]));
      if (largest_bias > 0) {
        factors[c] = std::max(factors[c], static_cast<double>(std::abs(bias_[c]) / largest_bias));
      }
      most = std::max(most, std::abs(std::log(factors[c])));
    }
    for (std::size_t i = 0; i < first_.size(); ++i) scale(first_[i], 1 / factors[i / row]);
    for (std::size_t c = 0; c < bias_.size(); ++c) scale(bias_[c], 1 / factors[c]);
    for (std::size_t i = 0; i < second_.size(); ++i) scale(second_[i], factors[channel_of_[i]]);
    return most;
  }

 private:
  static void scale(float& x, double factor) {
    x = static_cast<float>(static_cast<double>(x) * factor);
  }

  std::span<float> first_;
  std::span<float> bias_;
  std::span<float> second_;
  std::size_t channels_ = 0;
  std::vector<std::size_t> channel_of_;  // by weight of the second
};

}  // namespace

Model equalized(Model model, const EqualizeSettings& settings) {
  Network network = model.network;
  ParametersByName parameters = take_parameters(std::move(model));
  const auto readers = readers_of(network);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const auto chain = chain_from(network, i, readers, settings.replaces_relu6);
    if (!chain) continue;
    pairs.emplace_back(network, *chain, parameters);
    for (const std::size_t between : chain->between) {
      if (is<Relu6>(network.nodes[between].op)) network.nodes[between].op = Relu{};
    }
  }
  for (int round = 0; round < settings.most_rounds; ++round) {
    double most = 0;
    for (Pair& pair : pairs) most = std::max(most, pair.even_out());
    if (most <= settings.settled) break;
  }
  return model_of(std::move(network), std::move(parameters));
}

}  // namespace nibble::inline quantization
