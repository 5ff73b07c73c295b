// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool, GlobalAveragePool and ReduceMean over pictures.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "onnx/converters.h"
#include "onnx/window.h"

namespace nibble {
namespace {

// Zeros around such a value win no maximum that was not theirs.
bool is_never_negative(const Network& network, std::size_t index) {
  for (;;) {
    const Node& node = network.nodes[index];
    const auto* rounded = std::get_if<FakeQuantize>(&node.op);
    if (is<Relu>(node.op) || is<Relu6>(node.op)) return true;
    if (rounded != nullptr && rounded->low >= 0) return true;
    if (rounded == nullptr && !is<MaxPool>(node.op) && !is<AveragePool>(node.op) &&
        !is<Slice>(node.op) && !is<Pad>(node.op)) {
      return false;
    }
    index = node.inputs.front();
  }
}

struct PoolPlace {
  std::size_t input = 0;
  Window window;
  bool is_padded_before = false;  // by a node of its own
  Extent2 padding() const { return is_padded_before ? Extent2{0, 0} : window.before; }
};

PoolPlace place_of(Translation& translation, const NodeView& node, bool takes_zeros) {
  const Activation x = translation.picture(node, 0);
  const Extent2 kernel = extent_of(node, "kernel_shape", {0, 0});
  const Window window = window_of(node, x.extents, kernel);
  if (window.dilation != Extent2{1, 1}) throw Unsupported{"with dilations"};
  if (is_even(window, x.extents)) return {.input = x.node, .window = window};
  if (!takes_zeros) throw Unsupported{"with unlike padding on the two sides"};
  return {.input = add_padding(translation, node, x.node, window),
          .window = window,
          .is_padded_before = true};
}

Value add_mean(Translation& translation, const NodeView& node, const Activation& x) {
  const std::size_t mean = translation.builder().add(
      node.wished_name(), {.name = {}, .op = GlobalAveragePool{}, .inputs = {x.node}});
  Activation result = translation.activation_of(mean);
  result.extents = {x.extents[0], 1, 1};
  return result;
}

bool is_mean_already(Translation& translation, const Activation& x) {
  return x.extents.size() == 3 && x.extents[1] == 1 && x.extents[2] == 1 &&
         translation.builder().shape(x.node).rank() == 1;
}

}  // namespace

Value convert_max_pool(Translation& translation, const NodeView& node) {
  const Activation x = translation.picture(node, 0);
  const PoolPlace place =
      place_of(translation, node, is_never_negative(translation.builder().network(), x.node));
  const MaxPool pool{
      .kernel = place.window.kernel, .stride = place.window.stride, .padding = place.padding()};
  Activation most = translation.activation_of(translation.builder().add(
      node.wished_name(), {.name = {}, .op = pool, .inputs = {place.input}}));
  most.grid = x.grid;
  return most;
}

Value convert_average_pool(Translation& translation, const NodeView& node) {
  const bool counts_padding = node.integer("count_include_pad", 0) != 0;
  // A last window that ceil_mode adds has a divisor of its own.
  const bool may_be_uneven = counts_padding && node.integer("ceil_mode", 0) == 0;
  const PoolPlace place = place_of(translation, node, may_be_uneven);
  const AveragePool pool{.kernel = place.window.kernel,
                         .stride = place.window.stride,
                         .padding = place.padding(),
                         .counts_padding = counts_padding || place.padding() == Extent2{0, 0}};
  return translation.activation_of(translation.builder().add(
      node.wished_name(), {.name = {}, .op = pool, .inputs = {place.input}}));
}

Value convert_global_average_pool(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  if (is_mean_already(translation, x)) return x;
  return add_mean(translation, node, translation.picture(node, 0));
}

Value convert_reduce_mean(Translation& translation, const NodeView& node) {
  const Activation x = translation.activation(node, 0);
  const auto axes = list_of(node, translation.constants(node), "axes", 1);
  std::vector<std::size_t> which;
  for (const std::int64_t axis : axes.value_or(Extents{})) {
    which.push_back(axis_of(node, axis, x.extents.size() + 1));
  }
  std::ranges::sort(which);
  if (x.extents.size() != 3 || which != std::vector<std::size_t>{2, 3}) {
    throw Unsupported{"over other axes than rows and columns"};
  }
  Value mean = is_mean_already(translation, x)
                   ? Value{x}
                   : add_mean(translation, node, translation.picture(node, 0));
  if (node.integer("keepdims", 1) == 0) std::get<Activation>(mean).extents.resize(1);
  return mean;
}

}  // namespace nibble
