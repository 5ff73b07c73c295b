// SPDX-License-Identifier: Apache-2.0
// Rounds one weight at a time and compares answers.
#include "quantization/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/bit_packing.h"
#include "graph/fake_quantize.h"
#include "graph/model_parts.h"
#include "nibble/float_training/forward.h"
#include "quantization/quantization_points.h"
#include "quantization/stretches.h"
#include "quantization/weight_steps.h"

namespace nibble::inline quantization {
namespace {

Tensor rounded(const Node& node, const Tensor& weight, int bits, const QuantizeSettings& settings) {
  const auto [format, steps] = product_steps(node, weight, bits, settings);
  const IntegerGrid grid = grid_of(node, format);
  Tensor result = copy_of(weight.view());
  const std::span<float> values = result.as<float>();
  const std::size_t run = values.size() / steps.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = fake_quantized(values[i], steps[i / run], grid);
  }
  return result;
}

class Scanner {
 public:
  Scanner(const Model& folded, const QuantizeSettings& settings, const FloatBatches& batches,
          std::span<const int> bits)
      : network_(folded.network),
        settings_(settings),
        batches_(batches),
        bits_(bits.begin(), bits.end()),
        parameters_(take_parameters(copy_of(folded))),
        stretches_(network_, parameters_),
        exact_(answers_to(folded, batches)) {
    std::ranges::sort(bits_, std::greater());
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      if (is_product(network_.nodes[i].op)) products_.push_back(i);
    }
  }

  std::vector<LayerSensitivity> scan() {
    const std::vector<std::size_t> narrow = narrow_places(network_);
    std::vector<LayerSensitivity> layers;
    for (const std::size_t i : products_) {
      if (narrow[i] != begin_) {
        values_ = answers_to(stretches_.between(begin_, narrow[i]), values());
        begin_ = narrow[i];
      }
      layers.push_back(scan_layer(i));
    }
    return layers;
  }

 private:
  const FloatBatches& values() const { return begin_ == 0 ? batches_ : values_; }

  LayerSensitivity scan_layer(std::size_t i) const {
    const Node& node = network_.nodes[i];
    Model part = stretches_.between(begin_, output_of(network_));
    const std::vector<Parameter> parameters = parameters_of(part.network);
    const std::size_t place =
        find_parameter(parameters, find_node(part.network, node.name), "weight");
    const Tensor& weight = parameters_.find(parameter_name(node, "weight"))->second;
    LayerSensitivity layer{.name = node.name, .choices = {}};
    const int fixed = fixed_bits(i);
    for (const int bits : fixed != 0 ? std::vector{fixed} : bits_) {
      part.parameters[place] = rounded(node, weight, bits, settings_);
      BitNoise choice = noise_of(part);
      choice.bits = bits;
      choice.bytes = weight_bytes(weight.elements(), bits);
      layer.choices.push_back(choice);
    }
    return layer;
  }

  int fixed_bits(std::size_t i) const {
    const auto own = settings_.layers.find(network_.nodes[i].name);
    if (own != settings_.layers.end() && own->second.weights != 0) return own->second.weights;
    return i == products_.front() || i == products_.back() ? settings_.edge_bits : 0;
  }

  BitNoise noise_of(const Model& part) const {
    FloatForward forward(part);
    double signal = 0;
    double noise = 0;
    double count = 0;
    std::size_t b = 0;
    values().for_each([&](ConstTensorView batch) {
      const Tensor answers = forward.answers(batch);
      const Tensor exact = exact_.at(b++);
      const std::span<const float> y = exact.as<float>();
      const std::span<const float> z = answers.as<float>();
      for (std::size_t k = 0; k < y.size(); ++k) {
        const auto value = static_cast<double>(y[k]);
        const double difference = value - static_cast<double>(z[k]);
        signal += value * value;
        noise += difference * difference;
      }
      count += static_cast<double>(y.size());
    });
    return {.noise = noise / count,
            .sqnr = noise == 0 ? std::numeric_limits<double>::infinity()
                               : 10 * std::log10(signal / noise)};
  }

  const Network& network_;
  const QuantizeSettings& settings_;
  const FloatBatches& batches_;
  std::vector<int> bits_;
  ParametersByName parameters_;
  Stretches stretches_;
  FloatBatches exact_;
  std::vector<std::size_t> products_;
  std::size_t begin_ = 0;  // where values() are
  FloatBatches values_;
};

}  // namespace

std::int64_t weight_bytes(std::int64_t weights, int bits) {
  return static_cast<std::int64_t>(packed_bytes(static_cast<std::size_t>(weights), bits));
}

std::int64_t held_bytes(const Shape& weight, int bits) {
  const std::int64_t depth = weight.elements() / weight[0];
  return weight[0] * (bits <= 4 ? (depth + 1) / 2 : depth);
}

std::vector<LayerSensitivity> scan_sensitivity(const Model& folded,
                                               const QuantizeSettings& settings,
                                               const FloatBatches& batches,
                                               std::span<const int> bits) {
  return Scanner(folded, settings, batches, bits).scan();
}

}  // namespace nibble::inline quantization
