// SPDX-License-Identifier: Apache-2.0
// The numbers of every operation with their names, said once for all readers and writers.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "nibble/graph/op.h"

namespace nibble::inline graph {

// The operation of that name with its usual numbers.
std::optional<Op> op_of(std::string_view name);

// Numbers that files may lack, because older versions wrote none: they are 0 there.
constexpr bool may_be_absent(std::string_view key) {
  return key == "weight_steps" || key == "mean_bits";
}

// Calls visit(key, member) for each number of the operation, in the order of the text forms.
template <class AnyOp, class Visitor>
void visit_fields(AnyOp& op, Visitor&& visit) {
  using Type = std::remove_const_t<AnyOp>;
  if constexpr (std::is_same_v<Type, Input>) {
    visit("shape", op.shape);
    visit("mean", op.mean);
    visit("deviation", op.deviation);
  } else if constexpr (std::is_same_v<Type, Conv2d>) {
    visit("channels", op.channels);
    visit("kernel", op.kernel);
    visit("stride", op.stride);
    visit("padding", op.padding);
    visit("dilation", op.dilation);
    visit("groups", op.groups);
    visit("bias", op.has_bias);
    visit("weight_steps", op.weight_steps);
  } else if constexpr (std::is_same_v<Type, Linear>) {
    visit("features", op.features);
    visit("bias", op.has_bias);
    visit("weight_steps", op.weight_steps);
  } else if constexpr (std::is_same_v<Type, MaxPool> || std::is_same_v<Type, AveragePool> ||
                       std::is_same_v<Type, SumPool>) {
    visit("kernel", op.kernel);
    visit("stride", op.stride);
    visit("padding", op.padding);
    if constexpr (std::is_same_v<Type, AveragePool>) visit("counts_padding", op.counts_padding);
    if constexpr (std::is_same_v<Type, SumPool>) visit("mean_bits", op.mean_bits);
  } else if constexpr (std::is_same_v<Type, BatchNorm>) {
    visit("epsilon", op.epsilon);
    visit("momentum", op.momentum);
  } else if constexpr (std::is_same_v<Type, Slice>) {
    visit("begin", op.begin);
    visit("end", op.end);
    visit("step", op.step);
  } else if constexpr (std::is_same_v<Type, Pad>) {
    visit("before", op.before);
    visit("after", op.after);
  } else if constexpr (std::is_same_v<Type, FakeQuantize>) {
    visit("low", op.low);
    visit("high", op.high);
    visit("steps", op.steps);
  } else if constexpr (std::is_same_v<Type, Dropout>) {
    visit("share", op.share);
  } else if constexpr (std::is_same_v<Type, SoftmaxCrossEntropy>) {
    visit("smoothing", op.smoothing);
  } else if constexpr (std::is_same_v<Type, Rescale>) {
    visit("shift", op.shift);
    visit("low", op.low);
    visit("high", op.high);
    visit("per_channel", op.is_per_channel);
    visit("divisor", op.has_divisor);
  } else if constexpr (std::is_same_v<Type, Table>) {
    visit("first", op.first);
  } else if constexpr (std::is_same_v<Type, SoftmaxTable>) {
    visit("high", op.high);
  } else {
    static_assert(std::is_empty_v<Type>, "an operation with numbers that have no names here");
  }
}

}  // namespace nibble::inline graph
