// SPDX-License-Identifier: Apache-2.0
// The static data of emitted layers.
#include "emit/train_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/integer_form.h"
#include "graph/model_parts.h"
#include "graph/node_error.h"

namespace nibble::inline emit {
namespace {

std::string line(std::string_view name, std::int64_t value) {
  return fmt::format("    .{} = {},\n", name, value);
}

std::string lines(std::string_view name, const Extent2& extent) {
  return fmt::format("    .{0}_y = {1}, .{0}_x = {2},\n", name, extent.y, extent.x);
}

std::string declared(std::string_view type, std::size_t node, const std::string& fields) {
  return fmt::format("\nstatic const {} layer_{} = {{\n{}}};\n", type, node, fields);
}

std::string product_fields(const Network& network, const TrainPlan& plan, std::size_t node) {
  const Node& description = network.nodes[node];
  Picture in = plan.pictures[description.inputs[0]];
  const Picture& out = plan.pictures[node];
  Conv2d conv{.channels = out.channels, .kernel = {1, 1}};
  if (const auto* given = std::get_if<Conv2d>(&description.op)) {
    conv = *given;
  } else {
    in = {1, 1, in.elements()};
  }
  const bool is_dense = conv.groups == 1 && conv.dilation.x == 1;
  const WeightPlace weight = place_of(network, node, "weight");
  const WeightPlace bias = place_of(network, node, "bias");
  return fmt::format("    .in_height = {}, .in_width = {}, .in_channels = {},\n", in.height,
                     in.width, in.channels) +
         fmt::format("    .out_height = {}, .out_width = {}, .out_channels = {},\n", out.height,
                     out.width, out.channels) +
         lines("kernel", conv.kernel) + lines("stride", conv.stride) +
         lines("padding", conv.padding) + lines("dilation", conv.dilation) +
         fmt::format("    .groups = {}, .depth = {}, .outs = {}, .row_taps = {},\n", conv.groups,
                     in.channels / conv.groups, out.channels / conv.groups,
                     is_dense ? conv.kernel.x : 1) +
         fmt::format("    .weight = {}, .weight_exponent = {},\n", weight.offset, weight.exponent) +
         fmt::format("    .bias = {}, .bias_exponent = {},\n", bias.offset, bias.exponent);
}

struct PoolWindow {
  Extent2 kernel;
  Extent2 stride;
  Extent2 padding;
};

std::string pool_fields(const Picture& in, const Picture& out, const PoolWindow& window) {
  return fmt::format("    .in_height = {}, .in_width = {}, .out_height = {}, .out_width = {},\n",
                     in.height, in.width, out.height, out.width) +
         line("channels", in.channels) + lines("kernel", window.kernel) +
         lines("stride", window.stride) + lines("padding", window.padding);
}

// Along rows, columns, channels; a vector has channels alone.
std::string box_fields(const Op& op, const Picture& small, const Picture& large) {
  std::array<std::int64_t, 3> begin{0, 0, 0};
  std::array<std::int64_t, 3> step{1, 1, 1};
  const auto take = [](const std::vector<std::int64_t>& from, std::array<std::int64_t, 3>& to) {
    std::ranges::copy_backward(from, to.end());
  };
  if (const auto* slice = std::get_if<Slice>(&op)) {
    take(slice->begin, begin);
    take(slice->step, step);
  } else {
    take(std::get<Pad>(op).before, begin);
  }
  return fmt::format("    .height = {}, .width = {}, .channels = {},\n", small.height, small.width,
                     small.channels) +
         fmt::format("    .large_height = {}, .large_width = {}, .large_channels = {},\n",
                     large.height, large.width, large.channels) +
         fmt::format("    .begin_y = {}, .begin_x = {}, .begin_c = {},\n", begin[0], begin[1],
                     begin[2]) +
         fmt::format("    .step_y = {}, .step_x = {}, .step_c = {},\n", step[0], step[1], step[2]);
}

}  // namespace

WeightPlace place_of(const Network& network, std::size_t node, std::string_view kind) {
  WeightPlace place;
  std::int64_t offset = 0;
  for (const Parameter& parameter : parameters_of(network)) {
    if (parameter.node == node && parameter.kind == kind) {
      const Precision& precision =
          kind == "bias" ? network.nodes[node].bias : network.nodes[node].weight;
      return {.is_there = true, .offset = offset, .exponent = exponent_of(precision).value()};
    }
    offset += parameter.shape.elements();
  }
  return place;
}

std::string layer_description(const Network& network, const TrainPlan& plan, std::size_t node) {
  const Op& op = network.nodes[node].op;
  const Picture& in = plan.pictures[network.nodes[node].inputs[0]];
  const Picture& out = plan.pictures[node];
  if (is_product(op)) return declared("train_product", node, product_fields(network, plan, node));
  if (const auto* pool = std::get_if<MaxPool>(&op)) {
    const std::string fields = pool_fields(in, out, {pool->kernel, pool->stride, pool->padding});
    return declared("train_pool", node, fields + line("mark_log", plan.layers[node].mark_log));
  }
  if (is<GlobalAveragePool>(op)) {
    const PoolWindow all{{in.height, in.width}, {1, 1}, {0, 0}};
    return declared("train_mean", node, pool_fields(in, out, all) + line("counts_padding", 1));
  }
  if (const auto* pool = std::get_if<AveragePool>(&op)) {
    const std::string fields = pool_fields(in, out, {pool->kernel, pool->stride, pool->padding});
    return declared("train_mean", node,
                    fields + line("counts_padding", pool->counts_padding ? 1 : 0));
  }
  if (is_box(op)) {
    const bool is_slice = is<Slice>(op);
    return declared("train_box", node, box_fields(op, is_slice ? out : in, is_slice ? in : out));
  }
  const bool needs_none =
      is<Add>(op) || is<Bias>(op) || is_rectifier(op) || is<Flatten>(op) || is<Dropout>(op);
  if (needs_none) return "";
  fail_node(network.nodes[node], "operation", name_of(op), "one with emitted training");
}

}  // namespace nibble::inline emit
