// SPDX-License-Identifier: Apache-2.0
// The operations of a network, each with what it needs to know beside its inputs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "nibble/core/shape.h"

namespace nibble::inline graph {

// Extents of pictures: rows, then columns.
struct Extent2 {
  std::int64_t y = 1;
  std::int64_t x = 1;
  bool operator==(const Extent2&) const = default;
};

// What enters: one example of `shape`, a picture (height, width, channels) or a vector (features).
// Bytes become (value / 255 - mean[channel]) / deviation[channel]; floats are taken as they are.
struct Input {
  Shape shape;
  std::vector<float> mean;       // one a channel; empty: 0
  std::vector<float> deviation;  // one a channel; empty: 1
  bool operator==(const Input&) const = default;
};

// y[n,oy,ox,o] = Σ x[n, oy·stride - padding + ky·dilation, …, i]·w[o,ky,kx,i] (+ bias[o]), where i
// runs over the channels of o's group. Depthwise: as many groups as input channels.
struct Conv2d {
  std::int64_t channels = 0;
  Extent2 kernel{3, 3};
  Extent2 stride{1, 1};
  Extent2 padding{0, 0};
  Extent2 dilation{1, 1};
  std::int64_t groups = 1;
  bool has_bias = false;
  std::int64_t weight_steps = 0;  // as for Linear
  bool operator==(const Conv2d&) const = default;
};

// y[n,o] = Σ x[n,i]·w[o,i] (+ bias[o]). With weight steps, one for all or one an output, products
// use fake_quantized(w, step) on the grid of the weight's format: src/graph/fake_quantize.h.
struct Linear {
  std::int64_t features = 0;
  bool has_bias = false;
  std::int64_t weight_steps = 0;
  bool operator==(const Linear&) const = default;
};

struct Bias {  // y = x + bias[channel]
  bool operator==(const Bias&) const = default;
};
struct Relu {
  bool operator==(const Relu&) const = default;
};
struct Relu6 {  // min(max(x, 0), 6)
  bool operator==(const Relu6&) const = default;
};

struct MaxPool {  // the first of equal values, in row-major order, is the one that passed
  Extent2 kernel{2, 2};
  Extent2 stride{2, 2};
  Extent2 padding{0, 0};
  bool operator==(const MaxPool&) const = default;
};
struct AveragePool {
  Extent2 kernel{2, 2};
  Extent2 stride{2, 2};
  Extent2 padding{0, 0};
  bool counts_padding = true;  // whether zeros of the border are counted in the mean
  bool operator==(const AveragePool&) const = default;
};
struct GlobalAveragePool {  // (height, width, channels) to (channels)
  bool operator==(const GlobalAveragePool&) const = default;
};

// Training: (x - mean) / √(variance + epsilon)·scale + shift with the batch's moments (variance
// divided by n), and running = (1 - momentum)·running + momentum·moment (variance by n - 1).
// Evaluation: the running moments.
struct BatchNorm {
  float epsilon = 1e-5F;
  float momentum = 0.1F;
  bool operator==(const BatchNorm&) const = default;
};

struct Add {  // of two or more values of one shape
  bool operator==(const Add&) const = default;
};
struct Concat {  // along the last axis
  bool operator==(const Concat&) const = default;
};
struct Slice {  // along each axis of the example: begin, begin + step, … below end (0: to the end)
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> step;
  bool operator==(const Slice&) const = default;
};
struct Pad {  // zeros before and after along each axis of the example
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  bool operator==(const Pad&) const = default;
};
struct Flatten {  // row-major: height, width, channels
  bool operator==(const Flatten&) const = default;
};
// y = step·clamp(R(x / step), low, high): what integers would make of x. Several steps, one a
// channel, are given and not trained: the units of sums that x is added to.
struct FakeQuantize {
  std::int64_t low = -127;
  std::int64_t high = 127;
  std::int64_t steps = 1;
  bool operator==(const FakeQuantize&) const = default;
};
struct Dropout {  // training: 0 with probability `share`, else x / (1 - share)
  float share = 0.5F;
  bool operator==(const Dropout&) const = default;
};

// Losses: the last node, and the mean over the batch.
struct SoftmaxCrossEntropy {
  float smoothing = 0;  // target 1 - s + s/classes for the label, s/classes for the others
  bool operator==(const SoftmaxCrossEntropy&) const = default;
};
struct SquaredError {  // ½ Σ (y - target)²; the target of a label is 1 at its class, 0 elsewhere
  bool operator==(const SquaredError&) const = default;
};

// Of integer networks, whose values are integers. There conv2d, linear, bias, relu, max_pool, add,
// concat, slice, pad and flatten are those above on integers, with exact sums.

// y = clamp(R(x·multiplier[channel], shift), low, high), R to the nearest, ties away from zero.
struct Rescale {
  std::int64_t shift = 0;  // 0 to 62
  std::int64_t low = -127;
  std::int64_t high = 127;
  bool is_per_channel = false;  // a multiplier for each; otherwise one for all
  bool has_divisor = false;     // x / divisor[channel] is the real number that y stands for
  bool operator==(const Rescale&) const = default;
};
// The exact sum of each window; zeros around. With mean bits b: Σ·⌊2^b / n⌉ of the n numbers that
// are inside of the picture, their mean in units of 2^-b.
struct SumPool {
  Extent2 kernel{2, 2};
  Extent2 stride{2, 2};
  Extent2 padding{0, 0};
  std::int64_t mean_bits = 0;  // 0 to 24; 0: the sum
  bool operator==(const SumPool&) const = default;
};
struct Table {  // y = table[x - first], of 256 entries
  std::int64_t first = -128;
  bool operator==(const Table&) const = default;
};
// t_i = table[min(max_j x_j - x_i, 255)], y_i = ⌊(2·high·t_i + Σ t) / (2·Σ t)⌋ along the last axis;
// the entries are 0 … 2^31 - 1, table[0] is not 0.
struct SoftmaxTable {
  std::int64_t high = 255;
  bool operator==(const SoftmaxTable&) const = default;
};
inline constexpr std::int64_t kTableEntries = 256;
inline constexpr std::int64_t kMaxRescaleShift = 62;
inline constexpr std::int64_t kMaxMeanBits = 24;
inline constexpr std::int64_t kMaxInteger = 2'147'483'647;  // of a rescaled value, either sign

struct ArgMax {  // the index of the largest, of equal ones the first, along the last axis
  bool operator==(const ArgMax&) const = default;
};

using Op =
    std::variant<Input, Conv2d, Linear, Bias, Relu, Relu6, MaxPool, AveragePool, GlobalAveragePool,
                 BatchNorm, Add, Concat, Slice, Pad, Flatten, FakeQuantize, Dropout,
                 SoftmaxCrossEntropy, SquaredError, Rescale, SumPool, Table, SoftmaxTable, ArgMax>;

std::string_view name_of(const Op& op);  // "conv2d", "max_pool", … as the text form has it

template <class T>
bool is(const Op& op) {
  return std::holds_alternative<T>(op);
}

// For lists of operations that one overload takes: an operation that no list has does not compile.
template <class Operation, class... List>
concept OneOf = (std::is_same_v<Operation, List> || ...);

// What integer_form (src/graph/integer_form.h) writes out or refuses: it leaves none of these.
template <class Operation>
concept OfReals = OneOf<Operation, Relu6, AveragePool, GlobalAveragePool, BatchNorm, FakeQuantize,
                        Dropout, SoftmaxCrossEntropy, SquaredError>;

inline bool is_loss(const Op& op) {
  return is<SoftmaxCrossEntropy>(op) || is<SquaredError>(op);
}

}  // namespace nibble::inline graph
