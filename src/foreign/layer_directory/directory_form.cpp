// SPDX-License-Identifier: Apache-2.0
// Follows the values of a network from block to block and writes each under its name.
#include "foreign/layer_directory/nodes_to_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "foreign/layer_directory/layer_numbers.h"
#include "foreign/layer_directory/value_code.h"
#include "graph/model_parts.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

constexpr int kFormStages = 4;

Tensor i32_list(std::span<const std::int32_t> numbers) {
  Tensor tensor(DType::i32, Shape{static_cast<std::int64_t>(numbers.size())});
  std::ranges::copy(numbers, tensor.as<std::int32_t>().begin());
  return tensor;
}

class FormWriter {
 public:
  explicit FormWriter(const Model& from)
      : from_(from),
        parameters_(checked_parameters(from)),
        shapes_(infer_shapes(from.network)),
        readers_(readers_of(from.network)) {
    to_.network.name = from.network.name;
    to_.network.class_names = from.network.class_names;
  }

  Model write() {
    take_input();
    std::size_t conv = next_as<Conv2d>(0);
    std::size_t at = add_product(conv, "conv1", 0);
    std::size_t value = next_as<Rescale>(conv);
    at = add_rectified(value, "relu", "quantize1", at);
    value = next_as<MaxPool>(value);
    at = add({.name = "maxpool", .op = node(value).op, .inputs = {at}});
    int stage = 0;
    int block = 0;
    while (readers_[value].size() > 1) {
      const Block found = block_at(value);
      if (found.has_convolution()) {
        ++stage;
        block = 0;
      }
      if (stage == 0) fail(found.add, "shortcut of the first block", "an identity", "a conv2d");
      at = add_block(found, fmt::format("layer{}_{}", stage, block++), at);
      value = found.result;
    }
    if (stage != kFormStages)
      fail(value, "stages, each begun by a conv2d in a shortcut", std::to_string(stage), "4");
    add_end(value, at);
    (void)infer_shapes(to_.network);
    return std::move(to_);
  }

 private:
  struct Block {
    std::vector<std::size_t> filters;   // three convolutions
    std::vector<std::size_t> rescales;  // after the first two
    std::vector<std::size_t> shortcut;  // a rescale, or conv2d, rescale, rescale
    std::size_t add = 0;
    std::size_t result = 0;
    bool has_convolution() const { return shortcut.size() == 3; }
  };

  const Node& node(std::size_t i) const { return from_.network.nodes[i]; }

  [[noreturn]] void fail(std::size_t i, std::string_view what, std::string_view got,
                         std::string_view expected) const {
    throw Error(
        "layer_directory",
        fmt::format("layer {} ({}): {}", in_quotes(node(i).name), name_of(node(i).op), what), got,
        expected, ErrorKind::input);
  }

  template <class AnyOp>
  std::size_t next_as(std::size_t i) const {
    if (readers_[i].size() != 1) fail(i, "readers", std::to_string(readers_[i].size()), "one");
    const std::size_t next = readers_[i][0];
    if (!is<AnyOp>(node(next).op))
      fail(next, "operation", name_of(node(next).op), name_of(AnyOp{}));
    return next;
  }

  std::size_t add(Node added, std::vector<Tensor> tensors = {}) {
    for (Tensor& each : tensors) to_.parameters.push_back(std::move(each));
    to_.network.nodes.push_back(std::move(added));
    return to_.network.nodes.size() - 1;
  }

  const Tensor& parameter(std::size_t i, std::string_view kind) const {
    return from_.parameters[find_parameter(parameters_, i, kind)];
  }

  void take_input() {
    const Shape& shape = input_of(from_.network).shape;
    Node wanted = input_node(shape[0], shape.rank() == 3 ? shape[1] : 1);
    if (input_of(from_.network) != std::get<Input>(wanted.op) ||
        node(0).value.format != wanted.value.format) {
      fail(0, "input", "another shape, normalization or scale",
           "three channels, ImageNet's mean and deviation, steps of 2.64/127");
    }
    add(std::move(wanted));
  }

  // 16 bits where they are enough, as NVIDIA's convolutions have them.
  Tensor bias_of(std::size_t i) const {
    const auto numbers = parameter(i, "bias").as<std::int32_t>();
    const bool is_short =
        is<Conv2d>(node(i).op) && std::ranges::all_of(numbers, [](std::int32_t n) {
          return n >= std::numeric_limits<std::int16_t>::min() &&
                 n <= std::numeric_limits<std::int16_t>::max();
        });
    if (!is_short) return i32_list(numbers);
    Tensor tensor(DType::i16, Shape{static_cast<std::int64_t>(numbers.size())});
    std::ranges::transform(numbers, tensor.as<std::int16_t>().begin(),
                           [](std::int32_t n) { return static_cast<std::int16_t>(n); });
    return tensor;
  }

  std::size_t add_product(std::size_t i, const std::string& name, std::size_t input) {
    Node product{.name = name, .op = node(i).op, .inputs = {input}, .weight = node(i).weight};
    const bool has_bias = std::visit(
        [](auto& op) {
          if constexpr (requires { op.has_bias; }) return std::exchange(op.has_bias, true);
          return false;
        },
        product.op);
    std::vector<Tensor> tensors;
    tensors.push_back(copy_of(parameter(i, "weight").view()));
    const Shape& shape = shapes_[i];
    if (has_bias) {
      tensors.push_back(bias_of(i));
    } else {
      const std::vector<std::int32_t> zeros(static_cast<std::size_t>(shape[shape.rank() - 1]));
      tensors.push_back(i32_list(zeros));
    }
    return add(std::move(product), std::move(tensors));
  }

  // A factor a channel, of the range that a code of the format has.
  std::size_t add_rescale(std::size_t i, const std::string& name, std::size_t input) {
    const auto& rescale = std::get<Rescale>(node(i).op);
    const auto code = code_of_range(rescale.low, rescale.high);
    if (!code)
      fail(i, "range", fmt::format("{} to {}", rescale.low, rescale.high),
           "that of u4, u7, s8, u31 or s32");
    const auto factors = parameter(i, "multiplier").as<std::int32_t>();
    const auto channels = static_cast<std::size_t>(shapes_[i][2]);
    Tensor list(DType::u16, Shape{shapes_[i][2]});
    for (std::size_t c = 0; c < channels; ++c) {
      const std::int32_t factor = factors[factors.size() == 1 ? 0 : c];
      if (factor < 0 || factor > std::numeric_limits<std::uint16_t>::max())
        fail(i, "multiplier", std::to_string(factor), "0 to 65535");
      list.as<std::uint16_t>()[c] = static_cast<std::uint16_t>(factor);
    }
    std::vector<Tensor> tensors;
    tensors.push_back(std::move(list));
    return add({.name = name,
                .op = Rescale{.shift = rescale.shift,
                              .low = rescale.low,
                              .high = rescale.high,
                              .is_per_channel = true},
                .inputs = {input},
                .value = precision_of(*code)},
               std::move(tensors));
  }

  std::size_t add_rectified(std::size_t i, const std::string& relu, const std::string& name,
                            std::size_t input) {
    if (std::get<Rescale>(node(i).op).low != 0)
      fail(i, "range", "numbers below 0", "a relu before it");
    return add_rescale(i, name, add({.name = relu, .op = Relu{}, .inputs = {input}}));
  }

  // Of the readers of a block's input one goes on to two more convolutions, the other is the
  // shortcut; an identity may be read by an add through a rescale alone.
  Block block_at(std::size_t value) const {
    if (readers_[value].size() != 2)
      fail(value, "readers", std::to_string(readers_[value].size()), "a block and its shortcut");
    Block block;
    for (const std::size_t reader : readers_[value]) {
      if (is<Rescale>(node(reader).op)) {
        block.shortcut = {reader};
        continue;
      }
      if (!is<Conv2d>(node(reader).op))
        fail(reader, "operation", name_of(node(reader).op), "conv2d or rescale");
      const std::size_t rounded = next_as<Rescale>(reader);
      const std::size_t after = readers_[rounded].size() == 1 ? readers_[rounded][0] : rounded;
      if (is<Rescale>(node(after).op)) {
        block.shortcut = {reader, rounded, after};
        continue;
      }
      const std::size_t second = next_as<Conv2d>(rounded);
      const std::size_t rounded_again = next_as<Rescale>(second);
      const std::size_t third = next_as<Conv2d>(rounded_again);
      block.filters = {reader, second, third};
      block.rescales = {rounded, rounded_again};
      block.add = next_as<Add>(third);
    }
    if (block.filters.empty() || block.shortcut.empty() ||
        next_as<Add>(block.shortcut.back()) != block.add) {
      fail(value, "readers", "others", "a bottleneck block and its shortcut");
    }
    block.result = next_as<Rescale>(block.add);
    return block;
  }

  std::size_t add_block(const Block& block, const std::string& name, std::size_t input) {
    const std::string relu = name + "_relu";
    std::size_t at = add_product(block.filters[0], name + "_conv1", input);
    at = add_rectified(block.rescales[0], relu + "1", name + "_quantize1", at);
    at = add_product(block.filters[1], name + "_conv2", at);
    at = add_rectified(block.rescales[1], relu + "2", name + "_quantize2", at);
    const std::size_t sums = add_product(block.filters[2], name + "_conv3", at);
    std::size_t shortcut = input;
    std::string last = name + "_downsample";
    if (block.has_convolution()) {
      shortcut = add_product(block.shortcut[0], last + "_0", shortcut);
      shortcut = add_rescale(block.shortcut[1], last + "_1", shortcut);
      last += "_2";
    }
    shortcut = add_rescale(block.shortcut.back(), last, shortcut);
    at = add({.name = name + "_add", .op = Add{}, .inputs = {sums, shortcut}});
    return add_rectified(block.result, relu, name + "_quantize3", at);
  }

  void add_end(std::size_t value, std::size_t at) {
    const std::size_t pool = next_as<SumPool>(value);
    const auto& sums = std::get<SumPool>(node(pool).op);
    const auto& range = std::get<Rescale>(node(value).op);
    const auto code = code_of_range(range.low, range.high);
    const auto multiplier = sums.kernel.y == sums.kernel.x && code
                                ? average_multiplier(sums.kernel.y, range.high)
                                : std::nullopt;
    if (!multiplier || sums.mean_bits != 0)
      fail(pool, "window", fmt::format("{} by {}", sums.kernel.y, sums.kernel.x),
           "one that the format's mean can give");
    at = add({.name = "avgpool_sum", .op = sums, .inputs = {at}});
    std::vector<Tensor> tensors;
    tensors.push_back(i32_list(std::span(&*multiplier, 1)));
    at = add({.name = "avgpool",
              .op = Rescale{.shift = kAverageShift, .low = range.low, .high = range.high},
              .inputs = {at},
              .value = precision_of(*code)},
             std::move(tensors));
    std::size_t next = next_as<Flatten>(pool);
    at = add({.name = "flatten", .op = Flatten{}, .inputs = {at}});
    next = next_as<Rescale>(next);
    const std::size_t linear = next_as<Linear>(next);
    at = add_product(linear, "fc", at);
    add_scale(next_as<Rescale>(linear), at);
  }

  // An answer is sum·m / 2^shift steps: the sum is divided by what makes that a real number.
  void add_scale(std::size_t i, std::size_t input) {
    const auto& rescale = std::get<Rescale>(node(i).op);
    const auto factors = parameter(i, "multiplier").as<std::int32_t>();
    const double step = double{node(i).value.format.scaling.scale};
    Tensor divisors(DType::f32, Shape{shapes_[i][0]});
    for (std::size_t c = 0; c < divisors.as<float>().size(); ++c) {
      const double factor = factors[factors.size() == 1 ? 0 : c];
      divisors.as<float>()[c] =
          static_cast<float>(std::ldexp(1.0, static_cast<int>(rescale.shift)) / (factor * step));
    }
    const auto logits = logit_multipliers(divisors.as<float>());
    if (!logits) fail(i, "divisors", "numbers that are not", "above 2^-15 and below 2^43");
    std::vector<Tensor> tensors;
    tensors.push_back(i32_list(logits->multipliers));
    tensors.push_back(std::move(divisors));
    add({.name = "scale",
         .op = Rescale{.shift = logits->shift,
                       .low = -kMaxInteger,
                       .high = kMaxInteger,
                       .is_per_channel = true,
                       .has_divisor = true},
         .inputs = {input}},
        std::move(tensors));
  }

  const Model& from_;
  std::vector<Parameter> parameters_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<std::size_t>> readers_;
  Model to_;
};

}  // namespace

Model directory_form(const Model& integers) {
  return FormWriter(integers).write();
}

}  // namespace nibble::inline foreign
