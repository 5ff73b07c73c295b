// SPDX-License-Identifier: Apache-2.0
// Makes steps and places.
#include "engine/plan.h"

#include <algorithm>

#include "core/checked.h"
#include "engine/depthwise_step.h"
#include "engine/plain_step.h"
#include "engine/pool_steps.h"
#include "engine/product_step.h"
#include "engine/product_words.h"
#include "engine/row_step.h"
#include "graph/arena.h"
#include "graph/depthwise.h"
#include "graph/fusion.h"
#include "graph/integer_parameters.h"
#include "graph/node_error.h"

namespace nibble {
namespace {

constexpr std::size_t kAlignment = 64;   // of values: a line of the cache
constexpr std::int64_t kThinBytes = 64;  // of a kernel's row that is read as one run

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
        tuning_(options.tuning != nullptr ? *options.tuning : Tuning{}) {}

  EnginePlan plan() {
    if (!bounds_[0].value.is_within(-kMaxInteger, kMaxInteger))
      fail_node(node(0), "value", "beyond 32 bits", "less");
    plan_.output = network_.nodes.size() - 1;
    find_addends();
    find_packed();
    place_values();
    plan_.entry = entry_of(plan_.values[0]);
    for (std::size_t i = 1; i < network_.nodes.size(); ++i) {
      if (fusion_.is_absorbed(i) || home_[i] != i) continue;
      order_.push_back(i);
    }
    plan_memory();
    for (const std::size_t node : order_) {
      plan_.steps.push_back(step_of(node));
      plan_.scratch_bytes = std::max(plan_.scratch_bytes, plan_.steps.back()->scratch_bytes());
      plan_.weight_bytes = checked_sum(plan_.weight_bytes, plan_.steps.back()->weight_bytes());
    }
    return std::move(plan_);
  }

 private:
  const Node& node(std::size_t i) const { return network_.nodes[i]; }

  void place_values() {
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      const Interval& range = bounds_[i].value;
      const DType dtype = dtype_of(range);
      plan_.values.push_back(
          {.name = node(i).name,
           .shape = shapes_[i],
           .dtype = dtype,
           .low = range.low,
           .high = range.high,
           .bytes = static_cast<std::size_t>(shapes_[i].elements()) * size_of(dtype)});
      home_.push_back(i);
      plan_.places.emplace_back();
      if (fusion_.is_absorbed(i)) continue;
      if (is_alias(i)) {
        home_[i] = home_[node(i).inputs[0]];
        plan_.places[i] = plan_.places[home_[i]];
        continue;
      }
      plan_.places[i] = place_of(i);
    }
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

  Place place_of(std::size_t i) const {
    Place place;
    const Shape& shape = shapes_[i];
    place.channels = shape[shape.rank() - 1];
    if (shape.rank() == 3) {
      place.height = shape[0];
      place.width = shape[1];
    }
    set_storage(place, bounds_[i].value, may_pack_[i]);
    if (is<MaxPool>(node(i).op)) {  // keeps the bytes of its input
      const std::size_t input = node(i).inputs[0];
      const Place in = fusion_.is_absorbed(input) ? place_of(input) : plan_.places[input];
      place.storage = in.storage;
      place.zero = in.zero;
      place.stride = in.stride;
    }
    if (i == 0 && place.storage == FilterStorage::u8 && is_thin_input()) {
      place.border = std::get<Conv2d>(node(fusion_.readers()[0][0]).op).padding.x;
      place.stride = place.channels;
    }
    check_place(place);
    return place;
  }

  // A flattened picture lies as the picture does, where its readers know that.
  bool is_alias(std::size_t i) const {
    if (!is<Flatten>(node(i).op) || options_.keeps_layers) return false;
    const std::vector<std::size_t>& readers = fusion_.readers()[i];
    return std::ranges::all_of(readers, [&](std::size_t r) { return is<Linear>(node(r).op); }) &&
           !readers.empty();
  }

  // Pictures of few channels whose one reader is a convolution.
  bool is_thin_input() const {
    const std::vector<std::size_t>& readers = fusion_.readers()[0];
    if (readers.size() != 1 || shapes_[0].rank() != 3 || options_.keeps_layers) return false;
    const auto* conv = std::get_if<Conv2d>(&node(readers[0]).op);
    return conv != nullptr && conv->groups == 1 && conv->dilation.x == 1 &&
           shapes_[0][2] % 4 != 0 && conv->kernel.x * shapes_[0][2] <= kThinBytes;
  }

  void find_packed() {
    may_pack_.resize(network_.nodes.size());
    for (std::size_t i = may_pack_.size(); i-- > 0;) may_pack_[i] = may_pack(i);
  }

  // Whether all who read a value take halves of bytes; later nodes know it of theirs.
  bool may_pack(std::size_t i) const {
    const std::vector<std::size_t>& readers = fusion_.readers()[i];
    if (i == 0 || readers.empty() || options_.keeps_layers || !options_.packs_halves) return false;
    if (!has_whole_panels(first_of(i))) return false;
    return std::ranges::all_of(readers, [&](std::size_t r) {
      const Op& op = node(r).op;
      if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->groups == 1;
      if (is<Linear>(op) || is_alias(r)) return true;
      if (is<MaxPool>(op)) return bool{may_pack_[r]};
      return is_addend(i, r);
    });
  }

  // False: a product whose panels end within groups of 64 channels.
  bool has_whole_panels(std::size_t i) const {
    const auto* conv = std::get_if<Conv2d>(&node(i).op);
    return conv == nullptr || conv->groups == 1 || is_depthwise_node(i);
  }
  bool is_depthwise_node(std::size_t i) const {
    const auto* conv = std::get_if<Conv2d>(&node(i).op);
    return conv != nullptr && is_depthwise(*conv, shapes_[node(i).inputs[0]][2]);
  }

  std::size_t first_of(std::size_t last) const {
    const FusedGroup* group = fusion_.group_of(last);
    return group == nullptr ? last : group->first;
  }

  void find_addends() {
    joins_.assign(network_.nodes.size(), nullptr);
    for (std::size_t last = 0; last < network_.nodes.size(); ++last) {
      const FusedGroup* group = fusion_.group_of(last);
      if (group == nullptr || !group->addend.is_given()) continue;
      const std::size_t rescale = group->addend.rescale;
      joins_[rescale != kNoNode ? rescale : group->add] = group;
    }
  }

  bool is_addend(std::size_t value, std::size_t reader) const {
    const FusedGroup* group = joins_[reader];
    return group != nullptr && group->addend.node == value && has_whole_panels(group->first);
  }

  std::vector<std::size_t> inputs_of(std::size_t last) const {
    const FusedGroup* group = fusion_.group_of(last);
    if (group == nullptr) return node(last).inputs;
    std::vector<std::size_t> inputs = node(group->first).inputs;
    if (group->addend.is_given()) inputs.push_back(group->addend.node);
    return inputs;
  }

  void plan_memory() {
    std::vector<ArenaItem> items(network_.nodes.size());
    const std::size_t end = order_.size() + 1;
    for (std::size_t s = 0; s < order_.size(); ++s) {
      ArenaItem& item = items[order_[s]];
      item.first = s + 1;
      item.last = std::max(item.last, s + 1);
      for (const std::size_t input : inputs_of(order_[s])) items[home_[input]].last = s + 1;
    }
    items[home_[plan_.output]].last = end;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (fusion_.is_absorbed(i) || home_[i] != i) continue;
      items[i].bytes = static_cast<std::size_t>(checked_sum(
          checked_product(plan_.places[i].image_bytes(), options_.max_batch), kPlaceSlack));
      if (options_.keeps_layers) items[i].last = end;
    }
    plan_.arena_bytes = plan_arena(items, kAlignment);
    for (std::size_t i = 0; i < items.size(); ++i) plan_.places[i].offset = items[home_[i]].offset;
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
    const Place& out = plan_.places[last];
    if (const auto* pool = std::get_if<MaxPool>(&node(last).op);
        pool != nullptr && out.storage != FilterStorage::s32) {
      return make_max_pool_step(node(last).name, *pool, plan_.places[node(last).inputs[0]], out);
    }
    return plain_step(last);
  }

  std::unique_ptr<EngineStep> plain_step(std::size_t i) {
    PlainSpec spec{.node = node(i), .out = plan_.places[i], .macs = macs_[i]};
    for (const std::size_t input : node(i).inputs) spec.inputs.push_back(plan_.places[input]);
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
    const Place& in = plan_.places[node(group.first).inputs[0]];
    const Extent2& kernel = std::get<SumPool>(node(group.first).op).kernel;
    const std::int64_t taps = std::min(kernel.y, in.height) * std::min(kernel.x, in.width);
    const bool has_wide_bytes = taps > INT32_MAX / 255;  // their sum as they are stored
    if (group.has_wide_sums || has_wide_bytes || in.storage != FilterStorage::u8) {
      return make_plain_step(wide_spec(group));
    }
    MeanSpec spec{.name = node(group.last).name,
                  .pool = std::get<SumPool>(node(group.first).op),
                  .in = in,
                  .out = plan_.places[group.last],
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
    const Place& in = plan_.places[first.inputs[0]];
    if (group.has_wide_sums || in.storage == FilterStorage::s32) return wide_product_step(group);
    ProductSpec spec{.name = node(group.last).name,
                     .kind = kind_of(group),
                     .in = in,
                     .out = plan_.places[group.last],
                     .window = {},
                     .is_linear = is<Linear>(first.op),
                     .weights = take_weights(group.first),
                     .has_small_weights = options_.packs_halves && has_small_weights(first) &&
                                          !is_depthwise_node(group.first),
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
        spec.out = place_of(group.pooled);
      }
    }
    spec.shape = shape_words(spec, options_.max_batch);
    const auto found = tuning_.cuts.find(spec.shape);
    if (found != tuning_.cuts.end()) spec.cut = found->second;
    if (group.rescale != kNoNode) {
      spec.shift = static_cast<int>(std::get<Rescale>(node(group.rescale).op).shift);
    }
    if (group.addend.is_given()) spec.addend = plan_.places[group.addend.node];
    if (const std::size_t rescale = group.addend.rescale; rescale != kNoNode) {
      spec.addend_multiplier = integers(rescale, "multiplier");
      spec.addend_shift = static_cast<int>(std::get<Rescale>(node(rescale).op).shift);
    }
    return is_depthwise_node(group.first) ? make_depthwise_step(std::move(spec))
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
                   .inputs = {plan_.places[node(group.first).inputs[0]]},
                   .out = plan_.places[group.last],
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
    if (is_depthwise_node(group.first)) text = "depthwise " + text;
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
  Tuning tuning_;
  std::vector<bool> may_pack_;            // by node: its value may lie in halves of bytes
  std::vector<const FusedGroup*> joins_;  // by the node that reads the addend of a group
  std::vector<std::size_t> home_;         // the node in whose place a value lies
  std::vector<std::size_t> order_;        // of last nodes: one step each
  EnginePlan plan_;
};

}  // namespace

EnginePlan plan_engine(Model& model, const EngineOptions& options) {
  return Planner(model, options).plan();
}

}  // namespace nibble
