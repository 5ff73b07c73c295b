// SPDX-License-Identifier: Apache-2.0
// Gathers moments of a layer's input and of its float sums, and rounds by them.
#include "quantization/passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/fake_quantize.h"
#include "graph/model_parts.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/forward.h"
#include "quantization/layer_moments.h"
#include "quantization/nearest_plane.h"
#include "quantization/quantization_points.h"
#include "quantization/sampled_rows.h"
#include "quantization/stretches.h"

namespace nibble::inline quantization {
namespace {

// The places of a layer's sums that are looked at, and the float network's sums there.
struct SampledSums {
  std::vector<std::int64_t> places;
  std::int64_t area = 1;  // places of an example
  std::int64_t channels = 0;
  std::vector<float> sums = {};  // by place and channel
};

using SumsByName = std::map<std::string, SampledSums>;

// The places of the examples `first` to `first + count`, counted from `first`.
std::vector<std::int64_t> places_in(const SampledSums& sampled, std::int64_t first,
                                    std::int64_t count) {
  std::vector<std::int64_t> places;
  const auto begin = std::ranges::lower_bound(sampled.places, first * sampled.area);
  const auto end = std::ranges::lower_bound(sampled.places, (first + count) * sampled.area);
  for (auto it = begin; it != end; ++it) places.push_back(*it - first * sampled.area);
  return places;
}

SumsByName sample_sums(const Model& model, const FloatBatches& batches,
                       const LearnedRoundingSettings& settings) {
  const std::vector<Shape> shapes = infer_shapes(model.network);
  SumsByName all;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Node& node = model.network.nodes[i];
    if (!is_product(node.op)) continue;
    const std::int64_t channels = shapes[i][shapes[i].rank() - 1];
    const std::int64_t area = shapes[i].elements() / channels;
    all[node.name] = {
        .places = sampled_places(batches.examples() * area, settings.rows,
                                 {.seed = settings.seed, .stream = static_cast<std::uint32_t>(i)}),
        .area = area,
        .channels = channels};
  }
  FloatForward forward(model);
  std::int64_t first = 0;
  batches.for_each([&](ConstTensorView batch) {
    const std::int64_t count = batch.shape()[0];
    (void)forward.answers(batch, [&](std::size_t i, ConstTensorView value) {
      const auto found = all.find(model.network.nodes[i].name);
      if (found == all.end()) return;
      SampledSums& sampled = found->second;
      for (const std::int64_t place : places_in(sampled, first, count)) {
        const float* row = value.as<float>().data() + place * sampled.channels;
        sampled.sums.insert(sampled.sums.end(), row, row + sampled.channels);
      }
    });
    first += count;
  });
  return all;
}

class RoundingLearner {
 public:
  RoundingLearner(const Model& floating, Model fake, const FloatBatches& batches,
                  const LearnedRoundingSettings& settings)
      : settings_(settings),
        sums_(sample_sums(floating, batches, settings)),
        network_(fake.network),
        parameters_(take_parameters(std::move(fake))),
        shapes_(infer_shapes(network_)),
        stretches_(network_, parameters_),
        batches_(batches) {}

  Model learn() {
    const std::vector<std::size_t> narrow = narrow_places(network_);
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      const auto found = sums_.find(network_.nodes[i].name);
      if (!is_product(network_.nodes[i].op) || found == sums_.end()) continue;
      go_to(narrow[i]);
      round(i, found->second);
    }
    return model_of(std::move(network_), std::move(parameters_));
  }

 private:
  const FloatBatches& values() const { return begin_ == 0 ? batches_ : values_; }

  void go_to(std::size_t place) {
    if (place == begin_) return;
    values_ = answers_to(stretches_.between(begin_, place), values());
    begin_ = place;
  }

  std::vector<LayerMoments> moments_of(std::size_t i, const SampledSums& sampled) const {
    const Node& node = network_.nodes[i];
    const std::size_t input = node.inputs[0];
    const ProductRows rows(node.op, shapes_[input], shapes_[i]);
    const std::int64_t outputs = sampled.channels / rows.groups();
    std::vector<LayerMoments> moments;
    for (std::int64_t g = 0; g < rows.groups(); ++g) moments.emplace_back(rows.order(), outputs);
    std::optional<FloatForward> forward;
    if (input != begin_) forward.emplace(stretches_.between(begin_, input));
    const float* sums = sampled.sums.data();
    std::int64_t first = 0;
    values().for_each([&](ConstTensorView batch) {
      const std::int64_t count = batch.shape()[0];
      const std::vector<std::int64_t> places = places_in(sampled, first, count);
      first += count;
      if (places.empty()) return;
      const Tensor entering = forward ? forward->answers(batch) : copy_of(batch);
      for (std::int64_t g = 0; g < rows.groups(); ++g) {
        moments[static_cast<std::size_t>(g)].add(
            rows.of(entering.view(), places, g),
            {.data = sums + g * outputs, .stride = sampled.channels});
      }
      sums += static_cast<std::int64_t>(places.size()) * sampled.channels;
    });
    return moments;
  }

  void round(std::size_t i, const SampledSums& sampled) {
    Node& node = network_.nodes[i];
    const auto steps = parameters_.find(parameter_name(node, "step"));
    if (steps == parameters_.end()) {
      throw Error("quantize", node.name, "a weight without steps", "a fake-quantized network");
    }
    std::vector<LayerMoments> moments = moments_of(i, sampled);
    const std::span<float> bias =
        settings_.moves_biases || has_bias(node) ? bias_of(node, parameters_) : std::span<float>();
    const IntegerGrid grid = grid_of(node, node.weight.format);
    const std::span<float> weight =
        parameters_.find(parameter_name(node, "weight"))->second.as<float>();
    const std::size_t outputs = static_cast<std::size_t>(sampled.channels) / moments.size();
    const std::size_t order = weight.size() / static_cast<std::size_t>(sampled.channels);
    for (std::size_t g = 0; g < moments.size(); ++g) {
      if (settings_.moves_biases) {
        moments[g].center();
      } else if (!bias.empty()) {
        moments[g].subtract(bias.subspan(g * outputs, outputs));
      }
      const std::vector<double> form = moments[g].damped_form(settings_.damping);
      const NearestPlane plane(form, order);
      parallel_for(outputs, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          const std::size_t output = g * outputs + k;
          const std::span<float> own = weight.subspan(output * order, order);
          const std::span<const float> all_steps = steps->second.as<float>();
          const float step = all_steps[all_steps.size() == 1 ? 0 : output];
          const std::vector<double> change = plane.solved(moments[g].slope(own, k));
          std::vector<double> best(own.begin(), own.end());
          for (std::size_t j = 0; j < order; ++j) best[j] += change[j];
          const std::vector<float> integers = plane.integers(best, step, grid);
          for (std::size_t j = 0; j < order; ++j) own[j] = step * integers[j];
          if (settings_.moves_biases) bias[output] = moments[g].bias_for(own, k);
        }
      });
    }
  }

  static bool has_bias(const Node& node) {
    const auto* conv = std::get_if<Conv2d>(&node.op);
    return conv != nullptr ? conv->has_bias : std::get<Linear>(node.op).has_bias;
  }

  LearnedRoundingSettings settings_;
  SumsByName sums_;
  Network network_;
  ParametersByName parameters_;
  std::vector<Shape> shapes_;
  Stretches stretches_;
  const FloatBatches& batches_;
  std::size_t begin_ = 0;  // where values() are
  FloatBatches values_;
};

}  // namespace

Model with_learned_rounding(const Model& floating, Model fake, const FloatBatches& batches,
                            const LearnedRoundingSettings& settings) {
  return RoundingLearner(floating, std::move(fake), batches, settings).learn();
}

}  // namespace nibble::inline quantization
