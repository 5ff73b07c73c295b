// SPDX-License-Identifier: Apache-2.0
// Puts fake quantization in: ranges from what was observed, steps from the weights.
#include "quantization/fake_quantized.h"

#include <algorithm>
#include <array>
#include <optional>

#include "graph/model_parts.h"
#include "graph/model_writer.h"
#include "graph/parameters.h"
#include "nibble/core/error.h"
#include "nibble/float_training/forward.h"
#include "quantization/quantization_points.h"
#include "quantization/weight_steps.h"

namespace nibble::inline quantization {
namespace {

constexpr float kNvidiaStep = static_cast<float>(2.64 / 127);
constexpr std::int64_t kNvidiaMost = 127;
constexpr std::array<float, 3> kImagenetMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kImagenetDeviation = {0.229F, 0.224F, 0.225F};
constexpr int kMeanBits = 7;
constexpr int kShortcutBits = 8;
constexpr double kAnswerRoom = 4;  // answers may be so much larger than those observed

Tensor one_step(float step) {
  Tensor tensor(DType::f32, {1});
  tensor.as<float>()[0] = step;
  return tensor;
}

class FakeQuantizer {
 public:
  FakeQuantizer(const Model& from, const Observations& observations,
                const QuantizeSettings& settings)
      : from_(from),
        network_(from.network),
        observations_(observations),
        settings_(settings),
        parameters_(checked_parameters(from)),
        points_(quantization_points(network_, settings.form)),
        to_(network_) {
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      if (is_product(network_.nodes[i].op)) products_.push_back(i);
    }
  }

  Model write() {
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      places_.push_back(write_node(i));
      if (points_[i]) places_[i] = write_point(i, places_[i]);
    }
    return to_.finished();
  }

 private:
  std::size_t write_node(std::size_t i) {
    Node node = network_.nodes[i];
    for (std::size_t& input : node.inputs) input = places_[input];
    std::vector<Tensor> tensors;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (parameters_[p].node == i) tensors.push_back(copy_of(from_.parameters[p].view()));
    }
    if (is_product(node.op)) add_steps(i, node, tensors);
    return to_.add(std::move(node), std::move(tensors));
  }

  void add_steps(std::size_t i, Node& node, std::vector<Tensor>& tensors) const {
    const auto [format, steps] = product_steps(node, tensors[0], weight_bits(i), settings_);
    node.weight.format = format;
    const auto count = static_cast<std::int64_t>(steps.size());
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.weight_steps; }) op.weight_steps = count;
        },
        node.op);
    Tensor tensor(DType::f32, {count});
    std::ranges::copy(steps, tensor.as<float>().begin());
    tensors.insert(tensors.begin() + 1, std::move(tensor));
  }

  std::size_t write_point(std::size_t i, std::size_t place) {
    const QuantizationRange range = range_at(i);
    std::vector<Tensor> tensors;
    tensors.push_back(one_step(range.step));
    return to_.add({.name = to_.fresh_name(network_.nodes[i].name + ".q"),
                    .op = FakeQuantize{.low = range.grid.low, .high = range.grid.high},
                    .inputs = {place}},
                   std::move(tensors));
  }

  QuantizationRange range_at(std::size_t i) const {
    const ValueObserver& seen = observations_[i];
    if (i == output_of(network_)) {
      const double most =
          std::max(std::abs(double{seen.histogram.min()}), std::abs(double{seen.histogram.max()}));
      return to_step({-kAnswerRoom * most, kAnswerRoom * most},
                     {.kind = GridKind::symmetric, .bits = kOutputBits});
    }
    if (is_nvidia() && i == 0 && is_imagenet_input())
      return {.step = kNvidiaStep, .grid = {-kNvidiaMost, kNvidiaMost}};
    // A mean counts in the steps of what it is the mean of.
    if (is_nvidia() && is_mean(i)) return range_at(network_.nodes[i].inputs[0]);
    // The input is symmetric, so that i8 holds it wherever it comes from.
    const bool is_symmetric = settings_.is_symmetric || is_input(i);
    GridChoice choice{.kind = is_symmetric ? GridKind::symmetric : GridKind::affine,
                      .bits = value_bits(i)};
    if (seen.histogram.min() >= 0) choice.kind = GridKind::positive;
    const RangeMethod method = is_input(i) ? RangeMethod{} : settings_.method;
    return to_step(range_of(seen, method, choice), choice);
  }

  // Integer features go through a batch_norm first.
  bool is_input(std::size_t i) const { return i == 0 || is<BatchNorm>(network_.nodes[i].op); }

  int weight_bits(std::size_t i) const {
    const LayerBits* own = own_bits(i);
    if (own != nullptr && own->weights != 0) return own->weights;
    const bool is_edge = i == products_.front() || i == products_.back();
    return is_edge && settings_.edge_bits != 0 ? settings_.edge_bits : settings_.bits.weights;
  }

  bool is_nvidia() const { return settings_.form == IntegerForm::nvidia; }
  bool is_mean(std::size_t i) const {
    return is<GlobalAveragePool>(network_.nodes[i].op) || is<AveragePool>(network_.nodes[i].op);
  }
  bool is_imagenet_input() const {
    const Input& input = input_of(network_);
    return std::ranges::equal(input.mean, kImagenetMean) &&
           std::ranges::equal(input.deviation, kImagenetDeviation);
  }
  bool is_read_by(std::size_t i, const auto& is_such) const {
    return std::ranges::any_of(network_.nodes, [&](const Node& node) {
      return is_such(node.op) && std::ranges::find(node.inputs, i) != node.inputs.end();
    });
  }
  // NVIDIA's: of means, and of what shortcuts round before it is rectified.
  std::optional<int> wide_bits(std::size_t i) const {
    const auto is_pool = [](const Op& op) {
      return is<GlobalAveragePool>(op) || is<AveragePool>(op);
    };
    if (is_mean(i) || is_read_by(i, is_pool)) return kMeanBits;
    const bool is_shortcut = is_product(network_.nodes[product_of(network_, i)].op) &&
                             !is<Relu>(network_.nodes[i].op) && is_read_by(i, is<Add>);
    return is_shortcut ? std::optional(kShortcutBits) : std::nullopt;
  }

  int value_bits(std::size_t i) const {
    if (is_input(i)) return kInputBits;
    if (const std::optional<int> wide = is_nvidia() ? wide_bits(i) : std::nullopt) return *wide;
    const LayerBits* own = own_bits(product_of(network_, i));
    if (own != nullptr && own->activations != 0) return own->activations;
    return enters_last_product(i) && settings_.edge_bits != 0 ? settings_.edge_bits
                                                              : settings_.bits.activations;
  }

  bool enters_last_product(std::size_t i) const {
    std::size_t source = network_.nodes[products_.back()].inputs[0];
    while (is<Flatten>(network_.nodes[source].op)) source = network_.nodes[source].inputs[0];
    return source == i;
  }

  const LayerBits* own_bits(std::size_t product) const {
    const auto found = settings_.layers.find(network_.nodes[product].name);
    return found == settings_.layers.end() ? nullptr : &found->second;
  }

  const Model& from_;
  const Network& network_;
  const Observations& observations_;
  const QuantizeSettings& settings_;
  std::vector<Parameter> parameters_;
  std::vector<bool> points_;
  std::vector<std::size_t> products_;
  ModelWriter to_;
  std::vector<std::size_t> places_;  // of the old nodes' values
};

}  // namespace

Observations observe(const Model& model, const FloatBatches& batches, IntegerForm form) {
  const std::vector<bool> points = quantization_points(model.network, form);
  Observations observations(points.size());
  const auto watch = [&](std::size_t node, ConstTensorView value) {
    if (points[node]) observations[node].add(value.as<float>());
  };
  FloatForward forward(model);
  batches.for_each([&](ConstTensorView batch) { (void)forward.answers(batch, watch); });
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i]) continue;
    const ValueHistogram& seen = observations[i].histogram;
    check_finite(seen, model.network.nodes[i].name);
    if (seen.zeros() == seen.count()) {
      throw Error("quantize", "values of layer '" + model.network.nodes[i].name + "'",
                  "zeros alone in all calibration data", "others among them", ErrorKind::input);
    }
  }
  return observations;
}

Model with_new_ranges(const Model& fake, const Model& folded, const FloatBatches& batches,
                      const QuantizeSettings& settings) {
  const std::vector<Parameter> now = parameters_of(fake.network);
  Model floats = copy_of(folded);
  const std::vector<Parameter> parameters = parameters_of(floats.network);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto same = std::ranges::find(now, parameters[p].name, &Parameter::name);
    floats.parameters[p] =
        copy_of(fake.parameters[static_cast<std::size_t>(same - now.begin())].view());
  }
  return fake_quantized(floats, observe(floats, batches, settings.form), settings);
}

Model fake_quantized(const Model& model, const Observations& observations,
                     const QuantizeSettings& settings) {
  return FakeQuantizer(model, observations, settings).write();
}

}  // namespace nibble::inline quantization
