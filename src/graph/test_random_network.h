// SPDX-License-Identifier: Apache-2.0
// For tests: integer networks by chance, with every operation and every fused form.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>

#include "graph/parameters.h"
#include "graph/shapes.h"
#include "graph/test_network_maker.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {

// Ranges are kept roughly (never too small), so that sums stay within what a value may have.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : dice_(seed), maker_(make_input()) {
    const std::int64_t layers = dice_.from(1, 7);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    join();
  }

  Model model() const { return maker_.model(); }
  std::int64_t input_low() const { return values_[0].low; }
  std::int64_t input_high() const { return values_[0].high; }
  Dice& dice() { return dice_; }

 private:
  struct Value {
    Shape shape;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t most() const { return std::max(std::abs(low), std::abs(high)); }
    std::int64_t channels() const { return shape[shape.rank() - 1]; }
  };
  static constexpr std::int64_t kMost = INT32_MAX;
  static constexpr std::int64_t kMostWide = std::int64_t{1} << 40;  // of what a rescale follows

  NetworkMaker make_input() {
    Shape shape{dice_.from(1, 8), dice_.from(1, 8), channels()};
    if (dice_.is_one_of(4)) shape = {dice_.from(1, 40)};
    if (dice_.is_one_of(6)) shape = {dice_.from(14, 24), dice_.from(14, 24), dice_.from(1, 4)};
    const auto form = dice_.any<InputForm>({{"int8", 0, -128, 127},
                                            {"uint8", 0, 0, 255},
                                            {"uint8", 128, -128, 127},
                                            {"uint8", 100, -100, 155},
                                            {"uint4", 0, 0, 15},
                                            {"int4", 0, -8, 7},
                                            {"int16", 0, -32768, 32767}});
    values_.push_back({shape, form.low, form.high});
    return network_on(shape, form);
  }

  std::int64_t channels() {
    return dice_.any<std::int64_t>({1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33, 64, 64, 65, 128});
  }

  // Adds the node if it is possible and its range fits; false: not.
  bool add(const Op& op, std::vector<std::size_t> inputs, std::int64_t low, std::int64_t high,
           std::int64_t most = kMost) {
    if (low < -most || high > most) return false;
    Node node{.name = "x", .op = op, .inputs = inputs};
    std::vector<Shape> shapes;
    for (const std::size_t input : inputs) shapes.push_back(values_[input].shape);
    Shape shape;
    try {
      shape = shape_of(node, shapes);
    } catch (const Error&) {
      return false;
    }
    if (shape.elements() > 20000) return false;
    maker_.add(op, std::move(inputs));
    values_.push_back({shape, low, high});
    return true;
  }
  Value& last() { return values_.back(); }
  std::size_t last_index() const { return values_.size() - 1; }

  std::size_t any_value() {
    return dice_.is_one_of(3)
               ? static_cast<std::size_t>(dice_.from(0, static_cast<std::int64_t>(last_index())))
               : last_index();
  }
  Extent2 extent(std::int64_t least, std::int64_t most) {
    return {dice_.from(least, most), dice_.from(least, most)};
  }

  void add_layer() {
    const std::size_t i = any_value();
    const Value v = values_[i];
    switch (dice_.from(0, 13)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add_product(i);
      case 4:
        add(MaxPool{extent(1, 3), extent(1, 3), extent(0, 1)}, {i}, v.low, v.high);
        return;
      case 5:
        return add_sum_pool(i);
      case 6:
        return add_slice(i);
      case 7: {
        Pad pad;
        for (std::size_t k = 0; k < v.shape.rank(); ++k) {
          pad.before.push_back(dice_.from(0, 2));
          pad.after.push_back(dice_.from(0, 2));
        }
        add(pad, {i}, std::min<std::int64_t>(v.low, 0), std::max<std::int64_t>(v.high, 0));
        return;
      }
      case 8:
        add(Flatten{}, {i}, v.low, v.high);
        return;
      case 9:
        add(Relu{}, {i}, std::max<std::int64_t>(v.low, 0), std::max<std::int64_t>(v.high, 0));
        return;
      case 10:
        return add_bias(i);
      case 11:
        return add_table(i);
      case 12:
        return add_meeting(i);
      default:
        return add_rescale(i);
    }
  }

  void add_slice(std::size_t i) {
    Slice slice;
    for (const std::int64_t extent : values_[i].shape.extents()) {
      slice.begin.push_back(dice_.from(0, extent - 1));
      slice.end.push_back(dice_.is_one_of(2) ? 0 : dice_.from(slice.begin.back() + 1, extent));
      slice.step.push_back(dice_.from(1, 3));
    }
    add(slice, {i}, values_[i].low, values_[i].high);
  }

  void add_bias(std::size_t i) {
    const Value v = values_[i];
    const std::int64_t most = dice_.any<std::int64_t>({1, 20, 100000});
    if (!add(Bias{}, {i}, v.low - most, v.high + most)) return;
    maker_.with(tensor_of<std::int32_t>({v.channels()}, dice_.many(v.channels(), -most, most)));
  }

  void add_table(std::size_t i) {
    const Value v = values_[i];
    if (v.high - v.low > 255 || v.low < -256 || v.low > 256) return;
    const std::int64_t most = dice_.any<std::int64_t>({15, 127, 1000});
    const std::int64_t least = dice_.is_one_of(2) ? 0 : -most;
    if (!add(Table{.first = v.low}, {i}, least, most)) return;
    maker_.with(tensor_of<std::int16_t>({kTableEntries}, dice_.many(kTableEntries, least, most)));
  }

  // Add or concat with any other that fits.
  void add_meeting(std::size_t i) {
    const Op op = dice_.is_one_of(2) ? Op(Add{}) : Op(Concat{});
    const std::size_t other = any_value();
    const Value a = values_[i], b = values_[other];
    if (is<Add>(op)) {
      add(op, {i, other}, a.low + b.low, a.high + b.high);
    } else {
      add(op, {i, other}, std::min(a.low, b.low), std::max(a.high, b.high));
    }
  }

  void add_sum_pool(std::size_t i) {
    const Value v = values_[i];
    if (v.shape.rank() != 3) return;
    SumPool pool{extent(1, 3), extent(1, 2), extent(0, 1)};
    if (dice_.is_one_of(2)) pool = {{v.shape[0], v.shape[1]}, {1, 1}, {0, 0}};
    std::int64_t count = pool.kernel.y * pool.kernel.x;
    if (dice_.is_one_of(3)) {
      pool.mean_bits = dice_.from(6, 22);
      count += std::int64_t{1} << pool.mean_bits;  // at least what count·factor may be
    }
    if (!add(pool, {i}, std::min<std::int64_t>(v.low * count, v.low),
             std::max<std::int64_t>(v.high * count, v.high), kMostWide))
      return;
    widen_to_zero();
    if (last().most() > kMost) return add_rescale(last_index());
    if (dice_.is_one_of(2)) add(Flatten{}, {last_index()}, last().low, last().high);
    if (!dice_.is_one_of(4)) add_rescale(last_index());
  }
  void widen_to_zero() {
    last().low = std::min<std::int64_t>(last().low, 0);
    last().high = std::max<std::int64_t>(last().high, 0);
  }

  // A convolution or linear layer with what may follow it.
  void add_product(std::size_t i) {
    const Value v = values_[i];
    const std::int64_t outputs = channels();
    const bool has_bias = dice_.is_one_of(2);
    Op op = Linear{.features = outputs, .has_bias = has_bias};
    std::int64_t count = v.shape.elements();
    Shape weight{outputs, count};
    if (v.shape.rank() == 3) {
      Conv2d conv{.channels = outputs,
                  .kernel = extent(1, 4),
                  .stride = extent(1, 2),
                  .padding = extent(0, 3),
                  .dilation = extent(1, 2),
                  .groups = 1,
                  .has_bias = has_bias};
      if (dice_.is_one_of(4)) conv.kernel = {1, 1};
      if (dice_.is_one_of(3)) {  // groups of channels, or depthwise
        conv.groups = dice_.is_one_of(2) ? v.channels() : std::gcd(v.channels(), 4);
        conv.channels = conv.groups * (dice_.is_one_of(2) ? 1 : dice_.from(1, 3));
      }
      count = conv.kernel.y * conv.kernel.x * v.channels() / conv.groups;
      weight = {conv.channels, conv.kernel.y, conv.kernel.x, v.channels() / conv.groups};
      op = conv;
    }
    const std::int64_t most_weight = dice_.any<std::int64_t>({1, 3, 7, 31, 127, 127});
    const std::int64_t most_bias = dice_.any<std::int64_t>({3, 1000, 1'000'000});
    const std::int64_t reach = count * most_weight * v.most() + (has_bias ? most_bias : 0);
    if (count > 5000 || !add(op, {i}, -reach, reach, kMostWide)) return;
    const Integers weights = dice_.many(weight.elements(), -most_weight, most_weight);
    if (most_weight < 127 && dice_.is_one_of(2)) {
      const int bits = std::bit_width(static_cast<unsigned>(most_weight)) + 1;
      maker_.set_weight_format(("int" + std::to_string(bits)).c_str());
      if (dice_.is_one_of(2)) {
        std::vector<std::int8_t> small(weights.begin(), weights.end());
        const std::vector<std::uint8_t> packed = packed_weights(small, bits);
        maker_.with(tensor_of<std::uint8_t>({static_cast<std::int64_t>(packed.size())},
                                            {packed.begin(), packed.end()}));
      } else {
        maker_.with(tensor_of<std::int8_t>(weight, weights));
      }
    } else {
      maker_.with(tensor_of<std::int8_t>(weight, weights));
    }
    if (has_bias) {
      maker_.with(
          tensor_of<std::int32_t>({weight[0]}, dice_.many(weight[0], -most_bias, most_bias)));
    }
    add_tail();
  }

  void add_tail() {
    const bool must_rescale = last().most() > kMost;
    if (dice_.is_one_of(4) && !must_rescale) add_bias(last_index());
    if (dice_.is_one_of(2) && !must_rescale) add_residual();
    if (dice_.is_one_of(4) && !must_rescale) {
      const Value v = last();
      add(Relu{}, {last_index()}, std::max<std::int64_t>(v.low, 0),
          std::max<std::int64_t>(v.high, 0));
    }
    if (must_rescale || !dice_.is_one_of(5)) add_rescale(last_index());
    if (dice_.is_one_of(3)) {
      const Value v = last();
      add(Relu{}, {last_index()}, std::max<std::int64_t>(v.low, 0),
          std::max<std::int64_t>(v.high, 0));
    }
    if (dice_.is_one_of(3)) {
      const Value v = last();
      MaxPool pool{extent(1, 3), extent(1, 3), extent(0, 1)};
      if (dice_.is_one_of(2)) pool = {pool.kernel, pool.kernel, {0, 0}};
      add(pool, {last_index()}, v.low, v.high);
    }
  }

  // last + an older value of its shape, rescaled or not.
  void add_residual() {
    const std::size_t sum = last_index();
    std::vector<std::size_t> fitting;
    for (std::size_t k = 0; k < sum; ++k) {
      if (values_[k].shape == values_[sum].shape) fitting.push_back(k);
    }
    if (fitting.empty()) return;
    std::size_t other = fitting[static_cast<std::size_t>(
        dice_.from(0, static_cast<std::int64_t>(fitting.size()) - 1))];
    if (dice_.is_one_of(2)) {
      const Value v = values_[other];
      const std::int64_t most = v.most() * 1000;
      if (most > kMost) return;
      if (!add(Rescale{.shift = 3, .low = -kMost, .high = kMost, .is_per_channel = true}, {other},
               -most, most))
        return;
      maker_.with(tensor_of<std::int32_t>({v.channels()}, dice_.many(v.channels(), 0, 8000)));
      other = last_index();
    }
    const Value a = values_[sum], b = values_[other];
    const bool is_turned = dice_.is_one_of(2);
    add(Add{}, is_turned ? std::vector{other, sum} : std::vector{sum, other}, a.low + b.low,
        a.high + b.high);
  }

  void add_rescale(std::size_t i) {
    const Value v = values_[i];
    struct Range {
      std::int64_t low, high;
    };
    const Range range = dice_.any<Range>({{0, 15},
                                          {0, 15},
                                          {-127, 127},
                                          {-127, 127},
                                          {-128, 127},
                                          {0, 255},
                                          {-8, 7},
                                          {-200, 20},
                                          {-300, -100},
                                          {3, 9},
                                          {-9, -3},
                                          {0, 3000},
                                          {-kMost, kMost}});
    const bool is_per_channel = dice_.is_one_of(2);
    const int bits = static_cast<int>(dice_.from(0, 30));
    const auto value_bits = std::bit_width(static_cast<std::uint64_t>(v.most()));
    const int most_bits = std::min(bits, 61 - static_cast<int>(value_bits));
    const std::int64_t most = (std::int64_t{1} << most_bits) - (dice_.is_one_of(2) ? 0 : 1);
    const std::int64_t wanted = std::max(std::abs(range.low), std::abs(range.high));
    const auto wanted_bits = std::bit_width(static_cast<std::uint64_t>(wanted));
    const std::int64_t shift = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(value_bits) + most_bits - wanted_bits - dice_.from(0, 6), 0, 62);
    if (!add(Rescale{.shift = shift,
                     .low = range.low,
                     .high = range.high,
                     .is_per_channel = is_per_channel},
             {i}, range.low, range.high))
      return;
    const std::int64_t count = is_per_channel ? v.channels() : 1;
    Integers multipliers = dice_.many(count, most / 2, most);
    for (std::int64_t& m : multipliers) {
      if (is_per_channel && dice_.is_one_of(6)) m = 0;
    }
    maker_.with(tensor_of<std::int32_t>({count}, multipliers));
  }

  // Values that nobody took become one vector; sometimes a softmax or the class of it.
  void join() {
    std::vector<bool> is_read(values_.size());
    for (const Node& node : maker_.network().nodes) {
      for (const std::size_t input : node.inputs) is_read[input] = true;
    }
    std::vector<std::size_t> open;
    const std::size_t count = values_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_read[i]) open.push_back(i);
    }
    if (open.size() > 1) {
      for (std::size_t& i : open) {
        add(Flatten{}, {i}, values_[i].low, values_[i].high);
        i = last_index();
      }
      std::int64_t low = 0, high = 0;
      for (const std::size_t i : open) {
        low = std::min(low, values_[i].low);
        high = std::max(high, values_[i].high);
      }
      maker_.add(Concat{}, open);
      std::int64_t width = 0;
      for (const std::size_t i : open) width += values_[i].shape[0];
      values_.push_back({Shape{width}, low, high});
    }
    if (last().shape.rank() != 1) return;
    const std::int64_t width = last().shape[0];
    if (dice_.is_one_of(6) &&
        add(SoftmaxTable{.high = dice_.from(1, 255)}, {last_index()}, 0, 255)) {
      Integers table = dice_.many(kTableEntries, 0, 100000);
      table[0] += 1;
      maker_.with(tensor_of<std::int32_t>({kTableEntries}, table));
    }
    if (dice_.is_one_of(6)) add(ArgMax{}, {last_index()}, 0, width - 1);
  }

  Dice dice_;
  std::vector<Value> values_;
  NetworkMaker maker_;
};

}  // namespace nibble::inline graph
