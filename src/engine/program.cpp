// SPDX-License-Identifier: Apache-2.0
// Makes the steps of an integer network.
#include "engine/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/joined_sums.h"
#include "graph/fusion.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "laws/rescale.h"
#include "laws/rescale_ties.h"

namespace nibble::inline engine {
namespace {

DType dtype_of(const Interval& range) {
  if (range.is_within(-128, 127)) return DType::i8;
  return range.is_within(0, 255) ? DType::u8 : DType::i32;
}

bool is_of_small_weights(const Node& node) {
  const GridElement* grid = narrow_weight(node);
  return grid != nullptr && grid->bits <= 4 && grid->is_signed;
}

class ProgramMaker {
 public:
  ProgramMaker(const Model& model, bool is_fused)
      : model_(model),
        network_(model.network),
        shapes_(infer_shapes(network_)),
        macs_(multiply_accumulates(network_)),
        parameters_(parameters_of(network_)),
        bounds_(prove_bounds(model)),
        fusion_(model, bounds_, is_fused ? FusionStyle::for_bytes : FusionStyle::apart) {}

  void fill(EngineProgram& program) const {
    if (!bounds_[0].value.is_within(-kMaxInteger, kMaxInteger))
      fail_node(node(0), "value", "beyond 32 bits", "less");
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      program.values.push_back({value_of(i), picture_of(shapes_[i]), !fusion_.is_absorbed(i)});
      if (i > 0 && program.values[i].is_stored) program.steps.push_back(step_of(i));
    }
    program.entry = entry_of(program.values[0].info);
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

  bool has(std::size_t i, std::string_view kind) const {
    return find_parameter(parameters_, i, kind) != parameters_.size();
  }
  std::vector<std::int64_t> integers(std::size_t i, std::string_view kind) const {
    const std::size_t p = find_parameter(parameters_, i, kind);
    return integers_of(parameters_[p], model_.parameters[p]);
  }
  const Rescale& rescale_at(std::size_t i) const { return std::get<Rescale>(node(i).op); }

  ProgramStep step_of(std::size_t last) const {
    const FusedGroup* group = fusion_.group_of(last);
    if (group == nullptr) {
      return {.name = node(last).name,
              .kind = std::string(name_of(node(last).op)),
              .inputs = node(last).inputs,
              .output = last,
              .law = single_law(last)};
    }
    ProgramStep step{.name = node(last).name,
                     .kind = kind_of(*group),
                     .inputs = node(group->first).inputs,
                     .output = last,
                     .macs = macs_[group->first],
                     .law = {}};
    if (const auto* pool = std::get_if<SumPool>(&node(group->first).op)) {
      step.law = MeanLaw{.pool = *pool, .finish = finish_law(*group)};
    } else {
      step.law = product_law(*group);
    }
    return step;
  }

  SingleLaw single_law(std::size_t i) const {
    SingleLaw law{.op = node(i).op};
    for (const char* kind : {"multiplier", "table", "bias"}) {
      if (has(i, kind)) law.numbers = integers(i, kind);
    }
    if (const auto* rescale = std::get_if<Rescale>(&law.op))
      law.is_wide = !is_narrow_product(bounds_[i].product, rescale->shift);
    return law;
  }

  FinishLaw finish_law(const FusedGroup& group) const {
    FinishLaw law{.bias = bias_of(group),
                  .addend = group.addend.node,
                  .sum = group.sum,
                  .product = group.product,
                  .low = group.low,
                  .high = group.high,
                  .is_wide = group.is_wide,
                  .has_wide_sums = group.has_wide_sums};
    if (group.addend.is_given()) {
      law.addend_low = bounds_[group.addend.node].value.low;
      law.addend_high = bounds_[group.addend.node].value.high;
    }
    if (const std::size_t own = group.addend.rescale; own != kNoNode) {
      law.addend_multiplier = integers(own, "multiplier");
      law.addend_shift = static_cast<int>(rescale_at(own).shift);
    }
    if (group.rescale != kNoNode) {
      law.multiplier = integers(group.rescale, "multiplier");
      law.shift = static_cast<int>(rescale_at(group.rescale).shift);
    }
    const std::uint64_t most = std::max(magnitude_of(law.sum.low), magnitude_of(law.sum.high));
    law.has_ties = std::ranges::any_of(law.multiplier, [&](std::int64_t m) {
      return nibble::has_ties(most, magnitude_of(m), law.shift);
    });
    return law;
  }

  std::vector<std::int64_t> bias_of(const FusedGroup& group) const {
    std::vector<std::int64_t> sum;
    if (has(group.first, "bias")) sum = integers(group.first, "bias");
    for (const std::size_t each : group.biases) {
      const std::vector<std::int64_t> more = integers(each, "bias");
      sum.resize(more.size());
      for (std::size_t c = 0; c < more.size(); ++c) sum[c] += more[c];
    }
    return sum;
  }

  ProductLaw product_law(const FusedGroup& group) const {
    const Node& first = node(group.first);
    ProductLaw law{.node = group.first,
                   .op = Linear{},
                   .is_depthwise = is_depthwise_node(group.first),
                   .has_small_weights = is_of_small_weights(first),
                   .finish = finish_law(group)};
    if (const auto* conv = std::get_if<Conv2d>(&first.op)) {
      law.op = *conv;
    } else {
      law.op = std::get<Linear>(first.op);
    }
    if (group.pool != kNoNode) {
      law.largest = LargestLaw{.pool = std::get<MaxPool>(node(group.pool).op),
                               .pooled = group.pooled,
                               .takes_sums = group.pools_sums};
    }
    return law;
  }

  bool is_depthwise_node(std::size_t i) const {
    const auto* conv = std::get_if<Conv2d>(&node(i).op);
    return conv != nullptr && is_depthwise(*conv, shapes_[node(i).inputs[0]][2]);
  }

  std::string kind_of(const FusedGroup& group) const {
    const Op& op = node(group.first).op;
    std::string text(name_of(op));
    if (const auto* conv = std::get_if<Conv2d>(&op)) text = window_words(*conv);
    if (is_depthwise_node(group.first)) text = "depthwise " + text;
    if (group.addend.is_given()) text += " + add";
    if (group.rescale != kNoNode) text += " + rescale";
    if (group.pool != kNoNode) text += " + max_pool";
    return text;
  }

  const Model& model_;
  const Network& network_;
  std::vector<Shape> shapes_;
  std::vector<std::int64_t> macs_;
  std::vector<Parameter> parameters_;
  std::vector<NodeBounds> bounds_;
  Fusion fusion_;
};

}  // namespace

std::string window_words(const Conv2d& conv) {
  std::string text = fmt::format("conv2d {}x{}", conv.kernel.y, conv.kernel.x);
  if (conv.stride != Extent2{1, 1}) text += fmt::format("/{}", conv.stride.y);
  return text;
}

const FinishLaw* ProgramStep::finish() const {
  if (const auto* product = std::get_if<ProductLaw>(&law)) return &product->finish;
  const auto* mean = std::get_if<MeanLaw>(&law);
  return mean == nullptr ? nullptr : &mean->finish;
}

const LargestLaw* ProgramStep::largest() const {
  const auto* product = std::get_if<ProductLaw>(&law);
  return product == nullptr || !product->largest ? nullptr : &*product->largest;
}

std::vector<std::size_t> ProgramStep::reads() const {
  std::vector<std::size_t> values = inputs;
  if (const FinishLaw* after = finish(); after != nullptr && after->addend != kNoNode)
    values.push_back(after->addend);
  return values;
}

std::vector<std::int8_t> EngineProgram::weights_of(const ProductLaw& law) const {
  const std::vector<Parameter> parameters = parameters_of(model.network);
  const std::size_t p = find_parameter(parameters, law.node, "weight");
  return nibble::weights_of(model.network, parameters[p], model.parameters[p]);
}

EngineProgram make_program(Model model, bool is_fused) {
  EngineProgram program{.model = std::move(model), .values = {}, .steps = {}, .entry = {}};
  ProgramMaker(program.model, is_fused).fill(program);
  if (is_fused) join_sums(program);
  return program;
}

}  // namespace nibble::inline engine
