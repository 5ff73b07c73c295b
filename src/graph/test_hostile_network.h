// SPDX-License-Identifier: Apache-2.0
// For tests: integer networks by chance that are well formed and absurd: numbers at the edges of
// their ranges, windows far larger than pictures, strides that leave one output.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/shapes.h"
#include "graph/test_network_maker.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {

// Most networks are possible under the limits in force; some have one node that cannot be.
class HostileNetwork {
 public:
  explicit HostileNetwork(std::uint64_t seed) : dice_(seed), maker_(make_input()) {
    for (std::int64_t left = dice_.from(1, 6); left > 0 && is_possible_; --left) add_layer();
    if (is_possible_ && shape().rank() == 3 && dice_.is_one_of(4)) add(Flatten{});
    if (is_possible_ && shape().rank() == 1 && dice_.is_one_of(3)) add_end();
  }

  Model model() const { return maker_.model(); }
  std::int64_t input_low() const { return low_; }
  std::int64_t input_high() const { return high_; }
  Dice& dice() { return dice_; }

 private:
  static constexpr std::int64_t kMostWeights = 20000;  // that a test fills

  // Any integer, edges more often than others.
  std::int64_t edge() {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    switch (dice_.from(0, 5)) {
      case 0:
        return dice_.any<std::int64_t>({0, -1, -kMost - 1, kMost, kMost / 2 + 1, 1LL << 32});
      case 1:
      case 2:
        return (std::int64_t{1} << dice_.from(1, 31)) + dice_.from(-1, 1);
      case 3:
        return dice_.any<std::int64_t>({65535, 65536, 65537, 2147483646, 2147483647, 2147483648});
      default:
        return dice_.from(1, 300);
    }
  }
  // A small one, or an edge: one number in eight is hostile.
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return dice_.is_one_of(8) ? edge() : dice_.from(least, most);
  }
  Extent2 extent(std::int64_t least, std::int64_t most) {
    return {number(least, most), number(least, most)};
  }
  std::int64_t channels() {
    return dice_.any<std::int64_t>({1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 64, 65, 127, 128, 129});
  }

  NetworkMaker make_input() {
    Shape shape{dice_.from(1, 9), dice_.from(1, 9), channels()};
    if (dice_.is_one_of(5)) shape = {dice_.any<std::int64_t>({1, 63, 64, 65, 1000, 4097})};
    if (dice_.is_one_of(5)) shape = {1, dice_.any<std::int64_t>({1, 255, 4096, 20000}), 1};
    if (dice_.is_one_of(5)) shape = {dice_.any<std::int64_t>({1, 255, 3000}), 1, dice_.from(1, 4)};
    if (dice_.is_one_of(12)) shape = Shape{dice_.from(1, 1LL << 20), dice_.from(1, 1LL << 20), 1};
    const auto form = dice_.any<InputForm>({{"int8", 0, -128, 127},
                                            {"uint8", 0, 0, 255},
                                            {"uint8", 255, -255, 0},
                                            {"uint4", 0, 0, 15},
                                            {"int16", 0, -32768, 32767}});
    low_ = form.low;
    high_ = form.high;
    shapes_.push_back(shape);
    return network_on(shape, form);
  }

  const Shape& shape() const { return shapes_.back(); }
  std::int64_t width() const { return shape()[shape().rank() - 1]; }

  // Adds the node where it is possible, and one time in six where it is not.
  bool add(const Op& op, std::vector<std::size_t> inputs = {}) {
    if (inputs.empty()) inputs = {shapes_.size() - 1};
    const Node node{.name = "x", .op = op, .inputs = inputs};
    std::vector<Shape> shapes;
    for (const std::size_t input : inputs) shapes.push_back(shapes_[input]);
    try {
      shapes_.push_back(shape_of(node, shapes));
    } catch (const Error&) {
      if (!dice_.is_one_of(6)) return false;
      is_possible_ = false;
    }
    maker_.add(op, std::move(inputs));
    return true;
  }

  void add_layer() {
    switch (dice_.from(0, 12)) {
      case 0:
      case 1:
      case 2:
        return add_product();
      case 3:
        add(MaxPool{extent(1, 5), extent(1, 4), extent(0, 3)});
        return;
      case 4:
        if (add(SumPool{extent(1, 5), extent(1, 4), extent(0, 3),
                        dice_.is_one_of(2) ? 0 : number(1, 24)})) {
          add_rescale();
        }
        return;
      case 5:
        return add_whole_pool();
      case 6:
        return add_slice();
      case 7:
        return add_pad();
      case 8:
        return add_bias();
      case 9:
        return add_meeting();
      case 10:
        add(Relu{});
        return;
      case 11:
        return add_table();
      default:
        return add_rescale();
    }
  }

  // A window that reaches far beyond the picture on all sides, or strides that leave one output.
  void add_whole_pool() {
    if (shape().rank() != 3) return;
    const std::int64_t border = dice_.any<std::int64_t>({0, 1, 1000, 65534, 1LL << 30});
    const Extent2 kernel{shape()[0] + border, shape()[1] + border};
    const Extent2 stride{number(1, 65536), number(1, 65536)};
    const Extent2 padding{border, border};
    if (dice_.is_one_of(2)) {
      add(MaxPool{kernel, stride, padding});
    } else if (add(SumPool{kernel, stride, padding})) {
      add_rescale();
    }
  }

  void add_product() {
    const bool has_bias = dice_.is_one_of(2);
    std::int64_t outputs = dice_.is_one_of(20) ? edge() : channels();
    Op op = Linear{.features = outputs, .has_bias = has_bias};
    std::vector<std::int64_t> weight{outputs, width()};
    if (shape().rank() == 3) {
      Conv2d conv{.channels = outputs,
                  .kernel = extent(1, 4),
                  .stride = extent(1, 3),
                  .padding = extent(0, 4),
                  .dilation = extent(1, 3),
                  .groups = 1,
                  .has_bias = has_bias};
      if (dice_.is_one_of(3)) conv.kernel = {1, 1};
      if (dice_.is_one_of(4)) conv.stride = {edge(), edge()};
      if (dice_.is_one_of(6)) conv.padding = {dice_.from(0, 70000), dice_.from(0, 70000)};
      if (dice_.is_one_of(6)) conv.dilation = {dice_.from(1, 70000), dice_.from(1, 70000)};
      if (dice_.is_one_of(3)) {
        conv.groups = dice_.is_one_of(2) ? width() : number(1, 8);
        conv.channels = outputs = width();
      }
      weight = {conv.channels, conv.kernel.y, conv.kernel.x,
                conv.groups == 0 ? 0 : width() / conv.groups};
      op = conv;
    }
    if (!add(op)) return;
    add_weights(weight);
    if (has_bias) add_numbers(outputs, {0, 1, -1, INT32_MAX, INT32_MIN, 1000000, -30});
    if (is_possible_ && !dice_.is_one_of(6)) add_rescale();
  }

  // Of another shape where there are too many of them.
  void add_weights(const std::vector<std::int64_t>& extents) {
    std::int64_t count = 1;
    for (const std::int64_t each : extents) {
      const bool is_fitting = each > 0 && count <= kMostWeights / each;
      count = is_fitting ? count * each : kMostWeights + 1;
      if (!is_fitting) break;
    }
    const bool is_extreme = dice_.is_one_of(3);
    if (count > kMostWeights) {
      is_possible_ = false;
      maker_.with(tensor_of<std::int8_t>({1}, {1}));
    } else {
      Integers numbers = dice_.many(count, -128, 127);
      if (is_extreme) std::ranges::fill(numbers, dice_.any<std::int64_t>({-128, 127, 0}));
      maker_.with(tensor_of<std::int8_t>(Shape(extents), numbers));
    }
  }

  // One of the list for each.
  void add_numbers(std::int64_t count, std::initializer_list<std::int64_t> list) {
    Integers numbers;
    for (std::int64_t i = 0; i < std::clamp<std::int64_t>(count, 1, kMostWeights); ++i)
      numbers.push_back(dice_.any<std::int64_t>(list));
    maker_.with(tensor_of<std::int32_t>({static_cast<std::int64_t>(numbers.size())}, numbers));
  }

  void add_bias() {
    if (!add(Bias{})) return;
    add_numbers(width(), {0, 5, -5, 100, INT32_MAX, INT32_MIN});
    if (is_possible_ && dice_.is_one_of(2)) add_rescale();
  }

  void add_rescale() {
    struct Range {
      std::int64_t low, high;
    };
    const Range range = dice_.any<Range>({{0, 15},
                                          {0, 15},
                                          {-127, 127},
                                          {-128, 127},
                                          {0, 255},
                                          {-255, 0},
                                          {7, 7},
                                          {-kMaxInteger, kMaxInteger},
                                          {-kMaxInteger - 1, 0},
                                          {3, 2}});
    const bool is_per_channel = dice_.is_one_of(2);
    if (!add(Rescale{.shift = dice_.is_one_of(4) ? dice_.any<std::int64_t>({0, 1, 31, 61, 62, 63})
                                                 : dice_.from(0, 40),
                     .low = range.low,
                     .high = range.high,
                     .is_per_channel = is_per_channel}))
      return;
    add_numbers(is_per_channel ? width() : 1, {0, 1, 2, 1000, 65536, 1 << 30, kMaxInteger});
  }

  void add_end() {
    if (dice_.is_one_of(2)) {
      add(ArgMax{});
    } else if (add(SoftmaxTable{.high = dice_.is_one_of(2) ? 255 : edge()})) {
      Integers table = dice_.many(kTableEntries, 0, kMaxInteger);
      if (dice_.is_one_of(3)) std::ranges::fill(table, kMaxInteger);
      maker_.with(tensor_of<std::int32_t>({kTableEntries}, table));
    }
  }

  // Of bytes, and sometimes of more.
  void add_table() {
    if (!add(Table{.first = dice_.is_one_of(4) ? edge() : dice_.any<std::int64_t>({0, -128, 1})}))
      return;
    const std::int64_t most = dice_.any<std::int64_t>({0, 127, kMaxInteger});
    maker_.with(tensor_of<std::int32_t>({kTableEntries}, dice_.many(kTableEntries, -most, most)));
  }

  void add_slice() {
    Slice slice;
    for (const std::int64_t extent : shape().extents()) {
      slice.begin.push_back(dice_.is_one_of(8) ? edge() : dice_.from(0, extent - 1));
      slice.end.push_back(dice_.is_one_of(2) ? 0 : extent);
      slice.step.push_back(number(1, 3));
    }
    add(slice);
  }

  void add_pad() {
    Pad pad;
    for (std::size_t k = 0; k < shape().rank(); ++k) {
      pad.before.push_back(number(0, 2));
      pad.after.push_back(number(0, 2));
    }
    add(pad);
  }

  // The same value many times, or an older one.
  void add_meeting() {
    const std::size_t last = shapes_.size() - 1;
    std::vector<std::size_t> inputs(static_cast<std::size_t>(dice_.any<std::int64_t>({2, 2, 3, 9})),
                                    last);
    if (dice_.is_one_of(2))
      inputs[0] = static_cast<std::size_t>(dice_.from(0, static_cast<std::int64_t>(last)));
    const Op op = dice_.is_one_of(2) ? Op(Add{}) : Op(Concat{});
    if (add(op, inputs) && is_possible_) add_rescale();
  }

  Dice dice_;
  std::vector<Shape> shapes_;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
  bool is_possible_ = true;
  NetworkMaker maker_;  // made last: its input needs the others
};

}  // namespace nibble::inline graph
