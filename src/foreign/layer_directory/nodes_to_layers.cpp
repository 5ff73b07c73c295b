// SPDX-License-Identifier: Apache-2.0
// Layers of nodes.
#include "foreign/layer_directory/nodes_to_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "foreign/layer_directory/layer_numbers.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {

NodesToLayers::NodesToLayers(const Model& model)
    : model_(model), parameters_(checked_parameters(model)), shapes_(infer_shapes(model.network)) {}

void NodesToLayers::fail(std::size_t node, std::string_view what, std::string_view got,
                         std::string_view expected) const {
  const Node& it = this->node(node);
  throw Error("write_layer_directory",
              fmt::format("node {} ({}): {}", in_quotes(it.name), name_of(it.op), what), got,
              expected, ErrorKind::input);
}

bool NodesToLayers::is_next(std::string_view name) const {
  return codes_.size() < shapes_.size() && node(codes_.size()).name == name;
}

// The next node; it counts as taken when done is called.
const Node& NodesToLayers::take(const std::string& name, std::string_view op,
                                const std::vector<std::size_t>& inputs) {
  const std::size_t next = codes_.size();
  if (next == shapes_.size()) {
    throw Error("write_layer_directory", fmt::format("network {}", in_quotes(model_.network.name)),
                "no node more", fmt::format("{} ({})", in_quotes(name), op), ErrorKind::input);
  }
  const Node& found = node(next);
  if (found.name != name) fail(next, "name", in_quotes(found.name), in_quotes(name));
  if (name_of(found.op) != op) fail(next, "operation", name_of(found.op), op);
  if (found.inputs != inputs) {
    std::vector<std::string_view> expected;
    expected.reserve(inputs.size());
    for (const std::size_t input : inputs) expected.push_back(node(input).name);
    fail(next, "inputs", "others", fmt::format("{}", fmt::join(expected, " and ")));
  }
  return found;
}

template <class AnyOp>
const AnyOp& NodesToLayers::take_as(const std::string& name,
                                    const std::vector<std::size_t>& inputs) {
  return std::get<AnyOp>(take(name, name_of(Op(AnyOp{})), inputs).op);
}

std::size_t NodesToLayers::done(ValueCode code) {
  codes_.push_back(code);
  return codes_.size() - 1;
}

std::size_t NodesToLayers::parameter_of(std::size_t node, std::string_view kind) const {
  auto found = std::lower_bound(parameters_.begin(), parameters_.end(), node,
                                [](const Parameter& each, std::size_t n) { return each.node < n; });
  while (found != parameters_.end() && found->node == node && found->kind != kind) ++found;
  const bool is_there = found != parameters_.end() && found->node == node;
  return is_there ? static_cast<std::size_t>(found - parameters_.begin()) : parameters_.size();
}

ValueCode NodesToLayers::narrow_input(std::size_t input) const {
  const ValueCode code = code_of(input);
  if (!is_narrow(code)) {
    fail(codes_.size(), "input", fmt::format("{} of {}", name_of(code), node(input).name),
         "u4, u7 or s8");
  }
  return code;
}

std::int64_t NodesToLayers::square(Extent2 extent, std::string_view what) const {
  if (extent.y != extent.x) {
    fail(codes_.size(), what, fmt::format("{} by {}", extent.y, extent.x), "one number for both");
  }
  return extent.y;
}

std::size_t NodesToLayers::take_input() {
  const Input& input = take_as<Input>("input", {});
  const Node expected = input_node(input.shape[0], input.shape.rank() == 3 ? input.shape[1] : 1);
  const Input& wanted = std::get<Input>(expected.op);
  if (input.shape != wanted.shape || input.shape[0] != input.shape[1]) {
    fail(0, "shape", input.shape.to_string(), "(size, size, 3)");
  }
  if (input.mean != wanted.mean || input.deviation != wanted.deviation) {
    fail(0, "mean and deviation", "others",
         fmt::format("({}) and ({})", fmt::join(wanted.mean, ", "),
                     fmt::join(wanted.deviation, ", ")));
  }
  if (node(0).value.format != expected.value.format) {
    fail(0, "format", to_string(node(0).value.format), to_string(expected.value.format));
  }
  add_layer("model", NetworkLayer{.mode = std::string(kNetworkMode)});
  return done(kInputCode);
}

std::size_t NodesToLayers::take_conv(const std::string& name, std::size_t input) {
  const Conv2d& conv = take_as<Conv2d>(name, {input});
  const StoredType type = weight_type();
  const std::string mode = fmt::format("{}{}s32", name_of(narrow_input(input)), name_of(type));
  ConvLayer layer{.mode = mode,
                  .in_channels = shapes_[input][2],
                  .out_channels = conv.channels,
                  .kernel = conv.kernel,
                  .stride = conv.stride,
                  .padding = conv.padding,
                  .dilation = conv.dilation,
                  .groups = conv.groups,
                  .bias = add_bias(),
                  .weight = add_weight(type)};
  add_layer(name, std::move(layer));
  return done(ValueCode::s32);
}

std::size_t NodesToLayers::take_relu(const std::string& name, std::size_t input) {
  (void)take_as<Relu>(name, {input});
  return done(ValueCode::u31);
}

std::size_t NodesToLayers::take_sum(const std::string& name, std::size_t left, std::size_t right) {
  (void)take_as<Add>(name, {left, right});
  return done(ValueCode::s32);
}

std::size_t NodesToLayers::take_quantize(const std::string& name, std::size_t input) {
  const Rescale& rescale = take_as<Rescale>(name, {input});
  const std::size_t index = codes_.size();
  const auto code = code_of_range(rescale.low, rescale.high);
  if (!code) {
    fail(index, "range", fmt::format("{} to {}", rescale.low, rescale.high),
         "that of u4, u7, s8, u31 or s32");
  }
  if (rescale.has_divisor) fail(index, "divisor", "one", "none");
  if (!rescale.is_per_channel) fail(index, "multipliers", "one for all", "one a channel");
  const std::size_t parameter = parameter_of(index, "multiplier");
  std::string bytes;
  std::int64_t largest = 0;
  for (const std::int64_t factor :
       integers_of(parameters_[parameter], model_.parameters[parameter])) {
    if (factor < 0 || factor > UINT16_MAX) {
      fail(index, "multiplier", std::to_string(factor), "0 to 65535");
    }
    largest = std::max(largest, factor);
    bytes += static_cast<char>(factor & 255);
    bytes += static_cast<char>(factor >> 8);
  }
  QuantizeLayer layer{.mode = fmt::format("{}u16{}", name_of(code_of(input)), name_of(*code)),
                      .output_bits = range_of(*code).bits,
                      .shift = rescale.shift,
                      .max_factor = largest,
                      .factors = add_data("requant_factor", StoredType::u16,
                                          {1, shapes_[input][2], 1, 1}, std::move(bytes))};
  add_layer(name, std::move(layer));
  return done(*code);
}

std::size_t NodesToLayers::take_max_pool(const std::string& name, std::size_t input) {
  const MaxPool& pool = take_as<MaxPool>(name, {input});
  const ValueCode code = code_of(input);
  add_layer(name, MaxPoolLayer{.mode = fmt::format("{0}{0}", name_of(code)),
                               .kernel = square(pool.kernel, "kernel"),
                               .stride = square(pool.stride, "stride"),
                               .padding = square(pool.padding, "padding")});
  return done(code);
}

std::size_t NodesToLayers::take_average_pool(const std::string& name, std::size_t input) {
  const ValueCode code = code_of(input);
  const SumPool& pool = take_as<SumPool>(name + "_sum", {input});
  const std::size_t index = codes_.size();
  if (code != ValueCode::u4 && code != ValueCode::u7) {
    fail(index, "input", fmt::format("{} of {}", name_of(code), node(input).name), "u4 or u7");
  }
  if (shapes_[index][0] != 1 || shapes_[index][1] != 1) {
    fail(index, "value", shapes_[index].to_string(), "one pixel");
  }
  if (pool.mean_bits != 0) {
    fail(index, "mean_bits", std::to_string(pool.mean_bits), "0");
  }
  AveragePoolLayer layer{.mode = fmt::format("{0}{0}", name_of(code)),
                         .kernel = square(pool.kernel, "kernel"),
                         .stride = square(pool.stride, "stride"),
                         .padding = square(pool.padding, "padding")};
  const auto multiplier = average_multiplier(layer.kernel, range_of(code).high);
  if (!multiplier) {
    fail(index, "kernel", std::to_string(layer.kernel), "one whose mean 24 bits can give");
  }
  const std::size_t sum = done(ValueCode::u31);
  const Rescale& mean = take_as<Rescale>(name, {sum});
  if (code_of_range(mean.low, mean.high) != code || mean.is_per_channel || mean.has_divisor) {
    fail(codes_.size(), "rule", "another",
         fmt::format("the range {} of what enters, one multiplier, no divisor", name_of(code)));
  }
  check_multipliers(mean.shift, kAverageShift, {*multiplier});
  add_layer(name, std::move(layer));
  const std::size_t at = done(code);
  (void)take_as<Flatten>("flatten", {at});
  return done(code);
}

std::size_t NodesToLayers::take_linear(const std::string& name, std::size_t input) {
  const Linear& linear = take_as<Linear>(name, {input});
  const StoredType type = weight_type();
  const std::string mode = fmt::format("{}{}s32", name_of(narrow_input(input)), name_of(type));
  LinearLayer layer{.mode = mode,
                    .in_features = shapes_[input][0],
                    .out_features = linear.features,
                    .bias = add_bias(),
                    .weight = add_weight(type)};
  add_layer(name, std::move(layer));
  return done(ValueCode::s32);
}

std::size_t NodesToLayers::take_scale(const std::string& name, std::size_t input) {
  const Rescale& rescale = take_as<Rescale>(name, {input});
  const std::size_t index = codes_.size();
  if (!rescale.has_divisor || !rescale.is_per_channel ||
      code_of_range(rescale.low, rescale.high) != ValueCode::s32) {
    fail(index, "rule", "another", "a divisor a class and the range s32");
  }
  const Tensor& divisors = model_.parameters[parameter_of(index, "divisor")];
  if (divisors.dtype() != DType::f32) fail(index, "divisor", name_of(divisors.dtype()), "f32");
  const auto logits = logit_multipliers(divisors.as<float>());
  if (!logits) fail(index, "divisor", "a number that is not", "above 2^-15 and below 2^43");
  check_multipliers(rescale.shift, logits->shift, logits->multipliers);
  add_layer(name, ScaleLayer{.mode = "s32f32f32",
                             .divisors = add_data("out_scale", StoredType::f32, {shapes_[input][0]},
                                                  {reinterpret_cast<const char*>(divisors.data()),
                                                   divisors.bytes()})});
  return done(ValueCode::s32);
}

// Of the next node: the format does not hold them, so they must follow from what it holds.
void NodesToLayers::check_multipliers(std::int64_t shift, std::int64_t expected_shift,
                                      const std::vector<std::int32_t>& expected) const {
  const std::size_t index = codes_.size();
  if (shift != expected_shift) {
    fail(index, "shift", std::to_string(shift), std::to_string(expected_shift));
  }
  const std::size_t parameter = parameter_of(index, "multiplier");
  const std::vector<std::int64_t> got =
      integers_of(parameters_[parameter], model_.parameters[parameter]);
  const auto [a, b] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  if (a != got.end()) fail(index, "multiplier", std::to_string(*a), std::to_string(*b));
}

std::vector<WrittenFile> NodesToLayers::finished() {
  if (codes_.size() < shapes_.size()) {
    fail(codes_.size(), "place", fmt::format("one after {}", node(codes_.size() - 1).name),
         "none: the format ends there");
  }
  return std::move(files_);
}

}  // namespace nibble::inline foreign
