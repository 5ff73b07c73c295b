// SPDX-License-Identifier: Apache-2.0
// Makes the steps of an integer network.
#include "engine/plan.h"

#include <algorithm>

#include "core/checked.h"
#include "engine/depthwise_step.h"
#include "engine/plain_step.h"
#include "engine/pool_steps.h"
#include "engine/product_step.h"
#include "engine/product_words.h"
#include "engine/row_step.h"
#include "engine/value_places.h"
#include "graph/fusion.h"
#include "graph/integer_parameters.h"
#include "graph/node_error.h"

namespace nibble {
namespace {

DType dtype_of(const Interval& range) {
  if (range.is_within(-128, 127)) return DType::i8;
  return range.is_within(0, 255) ? DType::u8 : DType::i32;
}

class Planner {
 public:
  Planner(Model& model, const EngineOptions& options)
      : model_(model),
        network_(model.network),
        options_(options),
        shapes_(infer_shapes(network_)),
        macs_(multiply_accumulates(network_)),
        parameters_(parameters_of(network_)),
        bounds_(prove_bounds(model)),
        fusion_(model, bounds_, options.keeps_layers ? FusionStyle::apart : FusionStyle::for_bytes),
        known_{network_, shapes_, bounds_, fusion_, options_},
        places_(known_),
        tuning_(options.tuning != nullptr ? *options.tuning : Tuning{}) {}

  EnginePlan plan() {
    if (!bounds_[0].value.is_within(-kMaxInteger, kMaxInteger))
      fail_node(node(0), "value", "beyond 32 bits", "less");
    EnginePlan plan;
    plan.output = network_.nodes.size() - 1;
    plan.places = places_.all();
    plan.arena_bytes = places_.arena_bytes();
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) plan.values.push_back(value_of(i));
    plan.entry = entry_of(plan.values[0]);
    for (const std::size_t last : places_.order()) {
      plan.steps.push_back(step_of(last));
      plan.scratch_bytes = std::max(plan.scratch_bytes, plan.steps.back()->scratch_bytes());
      plan.weight_bytes = checked_sum(plan.weight_bytes, plan.steps.back()->weight_bytes());
    }
    return plan;
  }

 private:
  const Node& node(std::size_t i) const { return network_.nodes[i]; }

  ValueInfo value_of(std::size_t i) const {
    const Interval& range = bounds_[i].value;
    const DType dtype = dtype_of(range);
    return {.name = node(i).name,
            .shape = shapes_[i],
            .dtype = dtype,
            .low = range.low,
            .high = range.high,
            .bytes = static_cast<std::size_t>(shapes_[i].elements()) * size_of(dtype)};
  }

  // Bytes with a zero point enter as they are.
  ValueInfo entry_of(ValueInfo info) const {
    const Format& format = node(0).value.format;
    const auto* grid = std::get_if<GridElement>(&format.element);
    if (info.dtype != DType::i32 || grid == nullptr || grid->bits > 8) return info;
    info.dtype = grid->is_signed ? DType::i8 : DType::u8;
    info.zero = format.scaling.zero;
    info.bytes /= sizeof(std::int32_t);
    return info;
  }

  std::size_t parameter(std::size_t i, std::string_view kind) const {
    return find_parameter(parameters_, i, kind);
  }

  std::vector<std::int64_t> integers(std::size_t i, std::string_view kind) const {
    const std::size_t p = parameter(i, kind);
    return p == parameters_.size() ? std::vector<std::int64_t>{}
                                   : integers_of(parameters_[p], model_.parameters[p]);
  }

  std::unique_ptr<EngineStep> step_of(std::size_t last) {
    if (const FusedGroup* group = fusion_.group_of(last)) {
      if (is<SumPool>(node(group->first).op)) return mean_step(*group);
      return product_step(*group);
    }
    const Place& out = places_[last];
    if (const auto* pool = std::get_if<MaxPool>(&node(last).op);
        pool != nullptr && out.storage != FilterStorage::s32) {
      return make_max_pool_step(node(last).name, *pool, places_[node(last).inputs[0]], out);
    }
    return plain_step(last);
  }

  std::unique_ptr<EngineStep> plain_step(std::size_t i) {
    PlainSpec spec{.node = node(i), .out = places_[i], .macs = macs_[i]};
    for (const std::size_t input : node(i).inputs) spec.inputs.push_back(places_[input]);
    for (const char* kind : {"multiplier", "table", "bias"}) {
      if (parameter(i, kind) != parameters_.size()) spec.weights = integers(i, kind);
    }
    if (!runs_by_rows(node(i).op)) return make_plain_step(std::move(spec));
    const auto* rescale = std::get_if<Rescale>(&node(i).op);
    const bool is_wide =
        rescale != nullptr && !is_narrow_product(bounds_[i].product, rescale->shift);
    return make_row_step(std::move(spec), is_wide);
  }

  std::vector<std::int64_t> bias_of(const FusedGroup& group) const {
    std::vector<std::int64_t> sum = integers(group.first, "bias");
    for (const std::size_t each : group.biases) {
      const std::vector<std::int64_t> more = integers(each, "bias");
      sum.resize(more.size());
      for (std::size_t c = 0; c < more.size(); ++c) sum[c] += more[c];
    }
    return sum;
  }

  std::vector<std::int8_t> take_weights(std::size_t i) {
    const std::size_t p = parameter(i, "weight");
    std::vector<std::int8_t> weights = weights_of(network_, parameters_[p], model_.parameters[p]);
    model_.parameters[p] = {};
    return weights;
  }

  std::vector<std::int64_t> multiplier_of(const FusedGroup& group) const {
    return group.rescale == kNoNode ? std::vector<std::int64_t>{1}
                                    : integers(group.rescale, "multiplier");
  }

  std::unique_ptr<EngineStep> mean_step(const FusedGroup& group) {
    const Place& in = places_[node(group.first).inputs[0]];
    const Extent2& kernel = std::get<SumPool>(node(group.first).op).kernel;
    const std::int64_t taps = std::min(kernel.y, in.height) * std::min(kernel.x, in.width);
    const bool has_wide_bytes = taps > INT32_MAX / 255;  // their sum as they are stored
    if (group.has_wide_sums || has_wide_bytes || in.storage != FilterStorage::u8) {
      return make_plain_step(wide_spec(group));
    }
    MeanSpec spec{.name = node(group.last).name,
                  .pool = std::get<SumPool>(node(group.first).op),
                  .in = in,
                  .out = places_[group.last],
                  .multiplier = multiplier_of(group),
                  .low = group.low,
                  .high = group.high,
                  .has_rescale = group.rescale != kNoNode,
                  .is_wide = group.is_wide};
    if (spec.has_rescale)
      spec.shift = static_cast<int>(std::get<Rescale>(node(group.rescale).op).shift);
    return make_mean_step(spec);
  }

  std::unique_ptr<EngineStep> product_step(const FusedGroup& group) {
    const Node& first = node(group.first);
    const Place& in = places_[first.inputs[0]];
    if (group.has_wide_sums || in.storage == FilterStorage::s32) return wide_product_step(group);
    ProductSpec spec{.name = node(group.last).name,
                     .kind = kind_of(group),
                     .in = in,
                     .out = places_[group.last],
                     .window = {},
                     .is_linear = is<Linear>(first.op),
                     .weights = take_weights(group.first),
                     .has_small_weights = options_.packs_halves && has_small_weights(first) &&
                                          !known_.is_depthwise_node(group.first),
                     .bias = bias_of(group),
                     .multiplier = multiplier_of(group),
                     .low = group.low,
                     .high = group.high,
                     .is_wide = group.is_wide,
                     .macs = macs_[group.first]};
    if (const auto* conv = std::get_if<Conv2d>(&first.op)) spec.window = *conv;
    if (group.pool != kNoNode) {
      spec.pool = std::get<MaxPool>(node(group.last).op);
      if (group.pools_sums) {
        spec.meeting = spec.pool.kernel;
      } else {
        spec.pooled = spec.out;
        spec.out = places_.place_of(group.pooled);
      }
    }
    spec.shape = shape_words(spec, options_.max_batch);
    const auto found = tuning_.cuts.find(spec.shape);
    if (found != tuning_.cuts.end()) spec.cut = found->second;
    if (group.rescale != kNoNode) {
      spec.shift = static_cast<int>(std::get<Rescale>(node(group.rescale).op).shift);
    }
    if (group.addend.is_given()) spec.addend = places_[group.addend.node];
    if (const std::size_t rescale = group.addend.rescale; rescale != kNoNode) {
      spec.addend_multiplier = integers(rescale, "multiplier");
      spec.addend_shift = static_cast<int>(std::get<Rescale>(node(rescale).op).shift);
    }
    return known_.is_depthwise_node(group.first) ? make_depthwise_step(std::move(spec))
                                                 : make_product_step(std::move(spec));
  }

  std::unique_ptr<EngineStep> wide_product_step(const FusedGroup& group) {
    PlainSpec spec = wide_spec(group);
    const std::vector<std::int8_t> weights = take_weights(group.first);
    spec.weights = {weights.begin(), weights.end()};
    spec.bias = bias_of(group);
    return make_plain_step(std::move(spec));
  }

  // A group whose sums need 64 bits, or whose input is not of bytes.
  PlainSpec wide_spec(const FusedGroup& group) const {
    PlainSpec spec{.node = node(group.first),
                   .inputs = {places_[node(group.first).inputs[0]]},
                   .out = places_[group.last],
                   .macs = macs_[group.first],
                   .multiplier = multiplier_of(group),
                   .rescale = {.low = group.low, .high = group.high},
                   .has_rescale = true};
    spec.node.name = node(group.last).name;
    if (group.rescale != kNoNode)
      spec.rescale.shift = std::get<Rescale>(node(group.rescale).op).shift;
    return spec;
  }

  static bool has_small_weights(const Node& node) {
    const GridElement* grid = narrow_weight(node);
    return grid != nullptr && grid->bits <= 4 && grid->is_signed;
  }

  std::string kind_of(const FusedGroup& group) const {
    const Op& op = node(group.first).op;
    const auto* conv = std::get_if<Conv2d>(&op);
    std::string text = conv != nullptr ? window_words(*conv) : std::string(name_of(op));
    if (known_.is_depthwise_node(group.first)) text = "depthwise " + text;
    if (group.addend.is_given()) text += " + add";
    if (group.rescale != kNoNode) text += " + rescale";
    if (group.pool != kNoNode) text += " + max_pool";
    return text;
  }

  Model& model_;
  const Network& network_;
  EngineOptions options_;  // threads are known
  std::vector<Shape> shapes_;
  std::vector<std::int64_t> macs_;
  std::vector<Parameter> parameters_;
  std::vector<NodeBounds> bounds_;
  Fusion fusion_;
  FusedNetwork known_;
  ValuePlaces places_;
  Tuning tuning_;
};

}  // namespace

EnginePlan plan_engine(Model& model, const EngineOptions& options) {
  return Planner(model, options).plan();
}

}  // namespace nibble
