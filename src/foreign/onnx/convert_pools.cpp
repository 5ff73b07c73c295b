// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool, GlobalAveragePool and ReduceMean over pictures.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "foreign/onnx/converters.h"
#include "foreign/onnx/window.h"

namespace nibble::inline foreign {
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

// What a pool takes for the places outside of the picture.
enum class Outside { zeros, nothing, zeros_with_another_divisor };

struct PoolPlace {
  std::size_t input = 0;
  Window window;
  Extent2 padding;
  std::optional<EvenWindows> cut = {};  // of the windows of that padding, those asked for
};

PoolPlace place_of(Translation& translation, const NodeView& node, Outside outside) {
  const Activation x = translation.picture(node, 0);
  const Extent2 kernel = extent_of(node, "kernel_shape", {0, 0});
  const Window window = window_of(node, x.extents, kernel);
  if (window.dilation != Extent2{1, 1}) throw Unsupported{"with dilations"};
  if (is_even(window, x.extents)) {
    return {.input = x.node, .window = window, .padding = window.before};
  }
  if (outside == Outside::zeros) {
    return {.input = add_padding(translation, node, x.node, window),
            .window = window,
            .padding = {0, 0}};
  }
  const auto cut = outside == Outside::nothing ? even_windows(window, x.extents) : std::nullopt;
  if (!cut) throw Unsupported{"with unlike padding on the two sides"};
  return {.input = x.node, .window = window, .padding = cut->padding, .cut = cut};
}

template <class Pool>
Activation add_pool(Translation& translation, const NodeView& node, const PoolPlace& place,
                    const Pool& pool) {
  Builder& builder = translation.builder();
  const std::string name = node.wished_name();
  std::size_t last = builder.add(place.cut ? name + ".wide" : name,
                                 {.name = {}, .op = pool, .inputs = {place.input}});
  if (place.cut) {
    const Extent2 first = place.cut->first;
    const Extent2 end = place.cut->end;
    last = builder.add(name, {.name = {},
                              .op = Slice{.begin = {first.y, first.x, 0},
                                          .end = {end.y, end.x, builder.shape(last)[2]},
                                          .step = {1, 1, 1}},
                              .inputs = {last}});
  }
  return translation.activation_of(last);
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
  const bool takes_zeros = is_never_negative(translation.builder().network(), x.node);
  const PoolPlace place =
      place_of(translation, node, takes_zeros ? Outside::zeros : Outside::nothing);
  Activation most = add_pool(
      translation, node, place,
      MaxPool{
          .kernel = place.window.kernel, .stride = place.window.stride, .padding = place.padding});
  most.grid = x.grid;
  return most;
}

Value convert_average_pool(Translation& translation, const NodeView& node) {
  const bool counts_padding = node.integer("count_include_pad", 0) != 0;
  // A last window that ceil_mode adds counts the padding, not what it reaches beyond.
  const bool is_longer = node.integer("ceil_mode", 0) != 0;
  const PoolPlace place = place_of(translation, node,
                                   !counts_padding ? Outside::nothing
                                   : is_longer     ? Outside::zeros_with_another_divisor
                                                   : Outside::zeros);
  return add_pool(translation, node, place,
                  AveragePool{.kernel = place.window.kernel,
                              .stride = place.window.stride,
                              .padding = place.padding,
                              .counts_padding = counts_padding || place.padding == Extent2{0, 0}});
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

}  // namespace nibble::inline foreign
