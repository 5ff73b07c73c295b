// SPDX-License-Identifier: Apache-2.0
// The data files of the layers that nodes become.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foreign/layer_directory/layer_numbers.h"
#include "foreign/layer_directory/nodes_to_layers.h"
#include "graph/parameters.h"

namespace nibble::inline foreign {
namespace {

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
}

template <class Byte>
std::string bytes_of(const std::vector<Byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::int64_t> extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

}  // namespace

void NodesToLayers::add_layer(const std::string& name, const Layer& layer) {
  files_.push_back({name, to_text(layer)});
}

// Of the next node.
StoredTensor NodesToLayers::add_data(std::string_view kind, StoredType type,
                                     const std::vector<std::int64_t>& extents, std::string bytes) {
  const std::string path = fmt::format("npdata/{}.{}", node(codes_.size()).name, kind);
  files_.push_back({path, std::move(bytes)});
  return {.type = type, .extents = extents, .path = "model/" + path};
}

StoredType NodesToLayers::weight_type() const {
  const Format& format = node(codes_.size()).weight.format;
  const auto* grid = std::get_if<GridElement>(&format.element);
  const bool is_known =
      grid != nullptr && grid->bits <= 8 && format == Format{GridElement{.bits = grid->bits}, {}};
  if (!is_known) fail(codes_.size(), "format of its weight", to_string(format), "int2 to int8");
  return grid->bits <= 4 ? StoredType::s4 : StoredType::s8;
}

StoredTensor NodesToLayers::add_weight(StoredType type) {
  const std::size_t index = codes_.size();
  const std::size_t parameter = parameter_of(index, "weight");
  const Shape& shape = parameters_[parameter].shape;
  std::vector<std::int8_t> weights =
      weights_of(model_.network, parameters_[parameter], model_.parameters[parameter]);
  std::vector<std::int64_t> extents = extents_of(shape);
  if (shape.rank() == 4) {
    weights = channels_first(weights, shape);
    extents = {shape[0], shape[3], shape[1], shape[2]};
  }
  if (type == StoredType::s8) return add_data("weight", type, extents, bytes_of(weights));
  const auto beyond =
      std::find_if(weights.begin(), weights.end(), [](int w) { return w < -8 || w > 7; });
  if (beyond != weights.end()) fail(index, "weight", std::to_string(*beyond), "-8 to 7");
  return add_data("weight", type, extents, bytes_of(packed_weights(weights, 4)));
}

StoredTensor NodesToLayers::add_bias() {
  const std::size_t index = codes_.size();
  const std::size_t parameter = parameter_of(index, "bias");
  if (parameter == parameters_.size()) fail(index, "bias", "none", "one");
  const Tensor& bias = model_.parameters[parameter];
  if (bias.dtype() != DType::i16 && bias.dtype() != DType::i32) {
    fail(index, "bias", name_of(bias.dtype()), "i16 or i32");
  }
  return add_data("bias", bias.dtype() == DType::i16 ? StoredType::s16 : StoredType::s32,
                  extents_of(bias.shape()), bytes_of(bias));
}

}  // namespace nibble::inline foreign
