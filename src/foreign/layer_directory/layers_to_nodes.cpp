// SPDX-License-Identifier: Apache-2.0
// Nodes of layers.
#include "foreign/layer_directory/layers_to_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "foreign/layer_directory/layer.h"
#include "foreign/layer_directory/layer_numbers.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "graph/shapes.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

Precision weight_precision(StoredType type) {
  return {
      .format = {.element = GridElement{.bits = type == StoredType::s4 ? 4 : 8}, .scaling = {}}};
}

template <class Number>
Tensor list_of(const std::vector<Number>& numbers) {
  Tensor tensor(DTypeOf<Number>::value, Shape{static_cast<std::int64_t>(numbers.size())});
  std::memcpy(tensor.data(), numbers.data(), tensor.bytes());
  return tensor;
}

// The same numbers as a list: the file has (1, C, 1, 1).
Tensor flat(Tensor tensor) {
  Tensor result(tensor.dtype(), Shape{tensor.elements()});
  std::memcpy(result.data(), tensor.data(), tensor.bytes());
  return result;
}

}  // namespace

std::size_t LayersToNodes::add_node(Node node, ValueCode code, const LayerRecord& record) {
  std::vector<Shape> inputs;
  for (const std::size_t input : node.inputs) inputs.push_back(shapes_[input]);
  try {
    shapes_.push_back(shape_of(node, inputs));
  } catch (const Error& error) {
    throw Error("layer_directory", fmt::format("{}:1: {}", record.source, error.reason()),
                input_kind(error));
  }
  codes_.push_back(code);
  model_.network.nodes.push_back(std::move(node));
  return shapes_.size() - 1;
}

void LayersToNodes::check_filter_mode(const LayerRecord& record, std::string_view mode,
                                      ValueCode input, StoredType weight) const {
  if (!is_narrow(input)) {
    record.fail("compute_mode", in_quotes(mode),
                fmt::format("values of 8 bits or less to enter, not {}", name_of(input)));
  }
  check_mode(record, std::string(mode), fmt::format("{}{}s32", name_of(input), name_of(weight)));
}

void LayersToNodes::add_tensor(const LayerRecord& record, std::string_view key,
                               const StoredTensor& tensor) {
  model_.parameters.push_back(flat(folder_.read_tensor(record, key, tensor)));
}

// Of the last node; `shape` is ours.
void LayersToNodes::add_weight(const LayerRecord& record, const StoredTensor& tensor,
                               const Shape& shape) {
  Tensor stored = folder_.read_tensor(record, "weight", tensor);
  const bool is_packed = tensor.type == StoredType::s4;
  if (is_packed && shape.elements() % 2 != 0 && stored.as<std::uint8_t>().back() >> 4 != 0) {
    record.fail_path("weight", "something in the last half of a byte", "0: it has no weight");
  }
  const Parameter parameter{.name = node(shapes_.size() - 1).name + ".weight",
                            .node = shapes_.size() - 1,
                            .kind = "weight",
                            .shape = shape};
  const std::vector<std::int8_t> weights = weights_of(model_.network, parameter, stored);
  const std::vector<std::int8_t> ours = shape.rank() == 4 ? channels_last(weights, shape) : weights;
  const std::vector<std::uint8_t> packed =
      is_packed ? packed_weights(ours, 4) : std::vector<std::uint8_t>();
  Tensor result = is_packed ? std::move(stored) : Tensor(DType::i8, shape);
  std::memcpy(result.data(), is_packed ? static_cast<const void*>(packed.data()) : ours.data(),
              result.bytes());
  model_.parameters.push_back(std::move(result));
}

std::size_t LayersToNodes::add_input(std::int64_t size) {
  const LayerFileOf<NetworkLayer> file = folder_.read_as<NetworkLayer>("model");
  check_mode(file.record, file.layer.mode, std::string(kNetworkMode));
  if (size < 1 || size > kMaxNumber) {
    throw Error("layer_directory", "input size", std::to_string(size),
                fmt::format("1 to {}", kMaxNumber));
  }
  return add_node(input_node(size, size), kInputCode, file.record);
}

std::size_t LayersToNodes::add_conv(const std::string& name, std::size_t input) {
  const LayerFileOf<ConvLayer> file = folder_.read_as<ConvLayer>(name);
  const auto& [record, layer] = file;
  check_equal(record, "in_channels", layer.in_channels, shapes_[input][2], ", which enter");
  if (layer.groups < 1 || layer.in_channels % layer.groups != 0) {
    record.fail("groups", std::to_string(layer.groups), "a divisor of in_channels");
  }
  check_tensor(
      record, "weight", layer.weight, {StoredType::s4, StoredType::s8},
      {layer.out_channels, layer.in_channels / layer.groups, layer.kernel.y, layer.kernel.x});
  check_tensor(record, "bias", layer.bias, {StoredType::s16, StoredType::s32},
               {layer.out_channels});
  check_filter_mode(record, layer.mode, code_of(input), layer.weight.type);
  const std::size_t index = add_node({.name = name,
                                      .op = Conv2d{.channels = layer.out_channels,
                                                   .kernel = layer.kernel,
                                                   .stride = layer.stride,
                                                   .padding = layer.padding,
                                                   .dilation = layer.dilation,
                                                   .groups = layer.groups,
                                                   .has_bias = true},
                                      .inputs = {input},
                                      .weight = weight_precision(layer.weight.type)},
                                     ValueCode::s32, record);
  add_weight(
      record, layer.weight,
      {layer.out_channels, layer.kernel.y, layer.kernel.x, layer.in_channels / layer.groups});
  add_tensor(record, "bias", layer.bias);
  return index;
}

std::size_t LayersToNodes::add_relu(const std::string& file, const std::string& node,
                                    std::size_t input) {
  const LayerFileOf<ReluLayer> relu = folder_.read_as<ReluLayer>(file);
  check_mode(relu.record, relu.layer.mode, fmt::format("{}u31", name_of(code_of(input))));
  check_true(relu.record, "inplace", relu.layer.is_in_place);
  return add_node({.name = node, .op = Relu{}, .inputs = {input}}, ValueCode::u31, relu.record);
}

std::size_t LayersToNodes::add_quantize(const std::string& name, std::size_t input) {
  const LayerFileOf<QuantizeLayer> file = folder_.read_as<QuantizeLayer>(name);
  const auto& [record, layer] = file;
  const std::string prefix = fmt::format("{}u16", name_of(code_of(input)));
  const auto code = code_named(
      std::string_view(layer.mode).substr(layer.mode.starts_with(prefix) ? prefix.size() : 0));
  if (!layer.mode.starts_with(prefix) || !code) {
    record.fail("compute_mode", in_quotes(layer.mode),
                fmt::format("{0}u4, {0}u7, {0}s8, {0}u31 or {0}s32", prefix));
  }
  const ValueRange range = range_of(*code);
  check_equal(record, "output_bits", layer.output_bits, range.bits,
              fmt::format(" of {}", name_of(*code)));
  if (layer.shift > kMaxRescaleShift) {
    record.fail("shift_bits", std::to_string(layer.shift),
                fmt::format("0 to {}", kMaxRescaleShift));
  }
  check_tensor(record, "requant_factor", layer.factors, {StoredType::u16},
               {1, shapes_[input][2], 1, 1});
  const std::size_t index = add_node(
      {.name = name,
       .op =
           Rescale{
               .shift = layer.shift, .low = range.low, .high = range.high, .is_per_channel = true},
       .inputs = {input},
       .value = precision_of(*code)},
      *code, record);
  add_tensor(record, "requant_factor", layer.factors);
  const auto factors = model_.parameters.back().as<std::uint16_t>();
  check_equal(record, "max_requant", layer.max_factor,
              *std::max_element(factors.begin(), factors.end()), ", the largest of its data");
  return index;
}

std::size_t LayersToNodes::add_max_pool(const std::string& name, std::size_t input) {
  const LayerFileOf<MaxPoolLayer> file = folder_.read_as<MaxPoolLayer>(name);
  const auto& [record, layer] = file;
  const ValueCode code = code_of(input);
  check_mode(record, layer.mode, fmt::format("{0}{0}", name_of(code)));
  check_equal(record, "dilation", layer.dilation, 1, "");
  check_false(record, "return_indices", layer.returns_indices);
  check_false(record, "ceil_mode", layer.rounds_up);
  return add_node({.name = name,
                   .op = MaxPool{.kernel = {layer.kernel, layer.kernel},
                                 .stride = {layer.stride, layer.stride},
                                 .padding = {layer.padding, layer.padding}},
                   .inputs = {input}},
                  code, record);
}

std::size_t LayersToNodes::add_average_pool(const std::string& name, std::size_t input) {
  const LayerFileOf<AveragePoolLayer> file = folder_.read_as<AveragePoolLayer>(name);
  const auto& [record, layer] = file;
  const ValueCode code = code_of(input);
  if (code != ValueCode::u4 && code != ValueCode::u7) {
    record.fail("compute_mode", in_quotes(layer.mode),
                fmt::format("u4 or u7 to enter, not {}", name_of(code)));
  }
  check_mode(record, layer.mode, fmt::format("{0}{0}", name_of(code)));
  check_false(record, "ceil_mode", layer.rounds_up);
  check_true(record, "count_include_pad", layer.counts_padding);
  const auto multiplier = average_multiplier(layer.kernel, range_of(code).high);
  if (!multiplier) {
    record.fail("kernel_size", std::to_string(layer.kernel), "one whose mean 24 bits can give");
  }
  const std::size_t sum = add_node({.name = name + "_sum",
                                    .op = SumPool{.kernel = {layer.kernel, layer.kernel},
                                                  .stride = {layer.stride, layer.stride},
                                                  .padding = {layer.padding, layer.padding}},
                                    .inputs = {input}},
                                   ValueCode::u31, record);
  // Flattening (1, 1, C) is the same in both orders of axes; nothing else is.
  if (shapes_[sum][0] != 1 || shapes_[sum][1] != 1) {
    record.fail("kernel_size", std::to_string(layer.kernel),
                fmt::format("all of the {} by {} that enter with this input size",
                            shapes_[input][0], shapes_[input][1]));
  }
  const std::size_t mean = add_node(
      {.name = name,
       .op =
           Rescale{.shift = kAverageShift, .low = range_of(code).low, .high = range_of(code).high},
       .inputs = {sum},
       .value = precision_of(code)},
      code, record);
  model_.parameters.push_back(list_of<std::int32_t>({*multiplier}));
  return add_node({.name = "flatten", .op = Flatten{}, .inputs = {mean}}, code, record);
}

std::size_t LayersToNodes::add_linear(const std::string& name, std::size_t input) {
  const LayerFileOf<LinearLayer> file = folder_.read_as<LinearLayer>(name);
  const auto& [record, layer] = file;
  check_equal(record, "in_features", layer.in_features, shapes_[input][0], ", which enter");
  check_tensor(record, "weight", layer.weight, {StoredType::s4, StoredType::s8},
               {layer.out_features, layer.in_features});
  check_tensor(record, "bias", layer.bias, {StoredType::s16, StoredType::s32},
               {layer.out_features});
  check_filter_mode(record, layer.mode, code_of(input), layer.weight.type);
  const std::size_t index =
      add_node({.name = name,
                .op = Linear{.features = layer.out_features, .has_bias = true},
                .inputs = {input},
                .weight = weight_precision(layer.weight.type)},
               ValueCode::s32, record);
  add_weight(record, layer.weight, {layer.out_features, layer.in_features});
  add_tensor(record, "bias", layer.bias);
  return index;
}

std::size_t LayersToNodes::add_scale(const std::string& name, std::size_t input) {
  const LayerFileOf<ScaleLayer> file = folder_.read_as<ScaleLayer>(name);
  const auto& [record, layer] = file;
  check_mode(record, layer.mode, "s32f32f32");
  check_tensor(record, "out_scale", layer.divisors, {StoredType::f32}, {shapes_[input][0]});
  Tensor divisors = folder_.read_tensor(record, "out_scale", layer.divisors);
  const auto logits = logit_multipliers(divisors.as<float>());
  if (!logits) {
    record.fail_path("out_scale", "a number that is not", "numbers above 2^-15 and below 2^43");
  }
  const std::size_t index = add_node({.name = name,
                                      .op = Rescale{.shift = logits->shift,
                                                    .low = -kMaxInteger,
                                                    .high = kMaxInteger,
                                                    .is_per_channel = true,
                                                    .has_divisor = true},
                                      .inputs = {input}},
                                     ValueCode::s32, record);
  model_.parameters.push_back(list_of(logits->multipliers));
  model_.parameters.push_back(std::move(divisors));
  return index;
}

std::size_t LayersToNodes::add_sum(const std::string& name, std::size_t left, std::size_t right,
                                   const LayerRecord& record) {
  return add_node({.name = name, .op = Add{}, .inputs = {left, right}}, ValueCode::s32, record);
}

Model LayersToNodes::finished(std::string name) {
  model_.network.name = std::move(name);
  (void)infer_shapes(model_.network);
  return std::move(model_);
}

}  // namespace nibble::inline foreign
