// SPDX-License-Identifier: Apache-2.0
// The one list of keys of each layer, in their order, for whoever reads or writes text.
#pragma once

#include <type_traits>

#include "foreign/layer_directory/layer.h"

namespace nibble::inline foreign {

// Calls visit(key, member) for each key.
template <class AnyLayer, class Visitor>
void visit_keys(AnyLayer& layer, Visitor&& visit) {
  using Type = std::remove_const_t<AnyLayer>;
  if constexpr (requires { layer.mode; }) visit("compute_mode", layer.mode);
  if constexpr (std::is_same_v<Type, ConvLayer>) {
    visit("in_channels", layer.in_channels);
    visit("out_channels", layer.out_channels);
    visit("kernel_size", layer.kernel);
    visit("stride", layer.stride);
    visit("padding", layer.padding);
    visit("dilation", layer.dilation);
    visit("groups", layer.groups);
    visit("bias", layer.bias);
    visit("weight", layer.weight);
  } else if constexpr (std::is_same_v<Type, ReluLayer>) {
    visit("inplace", layer.is_in_place);
  } else if constexpr (std::is_same_v<Type, QuantizeLayer>) {
    visit("output_bits", layer.output_bits);
    visit("shift_bits", layer.shift);
    visit("max_requant", layer.max_factor);
    visit("requant_factor", layer.factors);
  } else if constexpr (std::is_same_v<Type, MaxPoolLayer>) {
    visit("kernel_size", layer.kernel);
    visit("stride", layer.stride);
    visit("padding", layer.padding);
    visit("dilation", layer.dilation);
    visit("return_indices", layer.returns_indices);
    visit("ceil_mode", layer.rounds_up);
  } else if constexpr (std::is_same_v<Type, AveragePoolLayer>) {
    visit("kernel_size", layer.kernel);
    visit("stride", layer.stride);
    visit("padding", layer.padding);
    visit("ceil_mode", layer.rounds_up);
    visit("count_include_pad", layer.counts_padding);
  } else if constexpr (std::is_same_v<Type, LinearLayer>) {
    visit("in_features", layer.in_features);
    visit("out_features", layer.out_features);
    visit("bias", layer.bias);
    visit("weight", layer.weight);
  } else if constexpr (std::is_same_v<Type, ScaleLayer>) {
    visit("out_scale", layer.divisors);
  } else if constexpr (std::is_same_v<Type, SequentialLayer>) {
    visit("children_count", layer.children);
  } else if constexpr (std::is_same_v<Type, BottleneckLayer>) {
    visit("stride", layer.stride);
    visit("downsample_layer", layer.has_downsample);
  } else {
    static_assert(std::is_same_v<Type, NetworkLayer>, "a layer whose keys have no names here");
  }
}

}  // namespace nibble::inline foreign
