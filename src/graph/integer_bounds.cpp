// SPDX-License-Identifier: Apache-2.0
// Interval arithmetic over an integer network, a channel at a time.
#include "nibble/graph/integer_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "graph/mean_factors.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "laws/rescale.h"
#include "laws/wide_division.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

constexpr Int128 kMost = Int128{1} << 62;

// Intervals of channels, along the last axis. Those that are all alike are kept once, and so is the
// hull of very many: the cost of a proof depends on the weights of a file, not on its extents.
class Channels {
 public:
  Channels() = default;
  Channels(std::size_t size, const Interval& each) : size_(size), list_{each} {}
  explicit Channels(std::vector<Interval> list) : size_(list.size()), list_(std::move(list)) {
    if (size_ > kMostApart) list_ = {hull()};
  }

  void append(const Channels& more) {
    const std::size_t size = size_ + more.size_;
    if (!is_alike() || !more.is_alike() || list_[0] != more.list_[0]) {
      if (size > kMostApart) {
        list_ = {hull().joined_with(more.hull())};
      } else {
        list_.resize(size_, list_[0]);
        for (std::size_t c = 0; c < more.size_; ++c) list_.push_back(more[c]);
      }
    }
    size_ = size;
  }
  Channels repeated(std::size_t times) const {
    const std::size_t size = size_ * times;
    if (is_alike() || size > kMostApart) return {size, hull()};
    std::vector<Interval> result;
    while (result.size() < size) result.insert(result.end(), list_.begin(), list_.end());
    return Channels(std::move(result));
  }

  std::size_t size() const { return size_; }
  bool is_alike() const { return list_.size() == 1; }
  const Interval& operator[](std::size_t channel) const { return list_[is_alike() ? 0 : channel]; }
  Interval hull() const {
    Interval all = list_.front();
    for (const Interval& each : list_) all = all.joined_with(each);
    return all;
  }

  // body(interval, channel) of each; where all are alike and `is_by_channel` is false, of one.
  template <class Body>
  Channels mapped(bool is_by_channel, const Body& body) const {
    if (!is_by_channel && is_alike()) return {size_, body(list_[0], std::size_t{0})};
    std::vector<Interval> result(size_);
    for (std::size_t c = 0; c < size_; ++c) result[c] = body((*this)[c], c);
    return Channels(std::move(result));
  }
  template <class Body>
  Channels mapped(const Body& body) const {
    return mapped(false, [&](const Interval& x, std::size_t) { return body(x); });
  }

 private:
  static constexpr std::size_t kMostApart = std::size_t{1} << 22;
  std::size_t size_ = 0;
  std::vector<Interval> list_;  // one, or one a channel
};

class BoundsProver {
 public:
  explicit BoundsProver(const Model& model)
      : model_(model),
        shapes_(infer_shapes(model.network)),
        parameters_(checked_parameters(model)) {}

  std::vector<NodeBounds> prove() {
    const std::vector<Node>& nodes = model_.network.nodes;
    std::vector<std::size_t> last_reader(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::size_t input : nodes[i].inputs) last_reader[input] = i;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      node_ = &nodes[i];
      index_ = i;
      bounds_.emplace_back();
      channels_.push_back(std::visit([&](const auto& op) { return of(op); }, node_->op));
      bounds_[i].value = channels_[i].hull();
      for (const std::size_t input : nodes[i].inputs) {
        if (last_reader[input] == i) channels_[input] = {};
      }
    }
    return std::move(bounds_);
  }

 private:
  std::int64_t checked(Int128 value) const {
    if (value >= kMost || value <= -kMost)
      fail_node(*node_, "sum or product", "beyond 62 bits", "less");
    return static_cast<std::int64_t>(value);
  }

  const Channels& in(std::size_t k = 0) const { return channels_[node_->inputs[k]]; }

  std::size_t width() const {
    const Shape& shape = shapes_[index_];
    return static_cast<std::size_t>(shape[shape.rank() - 1]);
  }

  std::size_t parameter(std::string_view kind) const {
    return find_parameter(parameters_, index_, kind);
  }
  std::vector<std::int64_t> integers(std::string_view kind) const {
    const std::size_t p = parameter(kind);
    return p == parameters_.size() ? std::vector<std::int64_t>{}
                                   : integers_of(parameters_[p], model_.parameters[p]);
  }

  Channels of(const Input&) const {
    const auto* grid = std::get_if<GridElement>(&node_->value.format.element);
    if (grid == nullptr || grid->fraction_bits != 0 || !grid->clamps) {
      fail_node(*node_, "format", to_string(node_->value.format), "integers of at most 32 bits");
    }
    const auto zero = std::int64_t{node_->value.format.scaling.zero};
    return {width(),
            {static_cast<std::int64_t>(grid->lowest_n()) - zero,
             static_cast<std::int64_t>(grid->highest_n()) - zero}};
  }

  Channels of(const Conv2d& op) {
    const Shape& shape = parameters_[parameter("weight")].shape;
    return products(op.padding.y > 0 || op.padding.x > 0 ? with_zero(in()) : in(),
                    shape[1] * shape[2], shape[3], op.groups);
  }
  Channels of(const Linear&) {
    return products(in(), 1, static_cast<std::int64_t>(in().size()), 1);
  }

  static Channels with_zero(const Channels& channels) {
    return channels.mapped([](const Interval& x) -> Interval {
      return {std::min<std::int64_t>(x.low, 0), std::max<std::int64_t>(x.high, 0)};
    });
  }

  // weight (out, taps, depth), the channels of out's group.
  Channels products(const Channels& reach, std::int64_t taps, std::int64_t depth,
                    std::int64_t groups) {
    const std::size_t p = parameter("weight");
    const std::vector<std::int8_t> weights =
        weights_of(model_.network, parameters_[p], model_.parameters[p]);
    const std::vector<std::int64_t> bias = integers("bias");
    std::vector<Interval> result(width());
    Interval& partial = bounds_[index_].partial;
    const std::int64_t per_group = static_cast<std::int64_t>(width()) / groups;
    const Int128 widest_sum = widest(reach) * taps * depth;  // times a weight, 2^7
    const auto all_sums = widest_sum < Int128{1} << 24   ? &sums_of<std::int32_t>
                          : widest_sum < Int128{1} << 54 ? &sums_of<std::int64_t>
                                                         : &sums_of<Int128>;
    const std::vector<Sums<Int128>> sums = all_sums(reach, weights, depth, per_group);
    for (std::size_t o = 0; o < result.size(); ++o) {
      const std::int64_t b = bias.empty() ? 0 : bias[o];
      result[o] = {checked(sums[o].low + b), checked(sums[o].high + b)};
      partial = {std::min(partial.low, checked(sums[o].lowest + std::min<std::int64_t>(b, 0))),
                 std::max(partial.high, checked(sums[o].highest + std::max<std::int64_t>(b, 0)))};
    }
    return Channels(std::move(result));
  }

  template <class Number>
  struct Sums {
    Number low = 0, high = 0;        // of the whole sum
    Number lowest = 0, highest = 0;  // of a part of it
  };

  // Of all outputs; `Number` holds what may come.
  template <class Number>
  static std::vector<Sums<Int128>> sums_of(const Channels& reach,
                                           const std::vector<std::int8_t>& weights,
                                           std::int64_t depth, std::int64_t per_group) {
    std::vector<Number> lows, highs;
    for (std::size_t c = 0; c < reach.size(); ++c) {
      lows.push_back(static_cast<Number>(reach[c].low));
      highs.push_back(static_cast<Number>(reach[c].high));
    }
    const std::size_t outputs =
        reach.size() / static_cast<std::size_t>(depth) * static_cast<std::size_t>(per_group);
    const std::size_t count = weights.size() / outputs;
    std::vector<Sums<Int128>> result;
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t first =
          o / static_cast<std::size_t>(per_group) * static_cast<std::size_t>(depth);
      Sums<Number> sums;
      for (std::size_t tap = 0; tap < count; tap += static_cast<std::size_t>(depth)) {
        add_tap(sums, &lows[first], &highs[first], &weights[o * count + tap], depth);
      }
      result.push_back({sums.low, sums.high, sums.lowest, sums.highest});
    }
    return result;
  }

  template <class Number>
  static void add_tap(Sums<Number>& sums, const Number* lows, const Number* highs,
                      const std::int8_t* weights, std::int64_t depth) {
    Sums<Number> sum = sums;
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto weight = static_cast<Number>(weights[k]);
      const Number a = lows[k] * weight;
      const Number b = highs[k] * weight;
      const Number least = a < b ? a : b;
      const Number most = a < b ? b : a;
      sum.low += least;
      sum.high += most;
      sum.lowest += least < 0 ? least : 0;
      sum.highest += most > 0 ? most : 0;
    }
    sums = sum;
  }

  static Int128 widest(const Channels& channels) {  // the largest magnitude
    const Interval all = channels.hull();
    return std::max(std::abs(all.low), std::abs(all.high));
  }

  Channels of(const Bias&) const {
    const std::vector<std::int64_t> bias = integers("bias");
    return in().mapped(true, [&](const Interval& x, std::size_t c) -> Interval {
      return {checked(Int128{x.low} + bias[c]), checked(Int128{x.high} + bias[c])};
    });
  }

  Channels of(const Relu&) const {
    return in().mapped([](const Interval& x) -> Interval {
      return {std::max<std::int64_t>(x.low, 0), std::max<std::int64_t>(x.high, 0)};
    });
  }

  Channels of(const MaxPool&) const { return in(); }

  Channels of(const SumPool& op) const {
    if (op.mean_bits > 0) return means(op);
    const Int128 count = Int128{op.kernel.y} * op.kernel.x;
    const bool has_border = op.padding.y > 0 || op.padding.x > 0;
    return (has_border ? with_zero(in()) : in()).mapped([&](const Interval& x) -> Interval {
      return {checked(count * x.low), checked(count * x.high)};
    });
  }
  Channels means(const SumPool& op) const {
    const Shape& from = shapes_[node_->inputs[0]];
    const Shape& to = shapes_[index_];
    Int128 least = INT64_MAX, most = 0;  // of count·factor
    MeanFactors(op, {from[0], from[1]}, {to[0], to[1]})
        .visit_kinds([&](std::int64_t count, std::int64_t factor) {
          least = std::min(least, Int128{count} * factor);
          most = std::max(most, Int128{count} * factor);
        });
    return in().mapped([&](const Interval& x) -> Interval {
      return {checked(x.low * (x.low < 0 ? most : least)),
              checked(x.high * (x.high > 0 ? most : least))};
    });
  }

  Channels of(const Add&) const {
    Channels result = in();
    for (std::size_t k = 1; k < node_->inputs.size(); ++k) {
      const Channels& other = in(k);
      result = result.mapped(!other.is_alike(), [&](const Interval& x, std::size_t c) -> Interval {
        return {checked(Int128{x.low} + other[c].low), checked(Int128{x.high} + other[c].high)};
      });
    }
    return result;
  }

  Channels of(const Concat&) const {
    Channels result = in();
    for (std::size_t k = 1; k < node_->inputs.size(); ++k) result.append(in(k));
    return result;
  }

  // Which channels are left is not looked at.
  Channels of(const Slice&) const { return {width(), in().hull()}; }
  Channels of(const Pad&) const { return {width(), with_zero(in()).hull()}; }
  // (height, width, channels) repeats its channels.
  Channels of(const Flatten&) const { return in().repeated(width() / in().size()); }

  Channels of(const Rescale& op) {
    const std::vector<std::int64_t> multipliers = integers("multiplier");
    Interval& product = bounds_[index_].product;
    const bool is_by_channel = multipliers.size() > 1;
    return in().mapped(is_by_channel, [&](const Interval& x, std::size_t c) -> Interval {
      const std::int64_t m = multipliers[is_by_channel ? c : 0];
      if (m < 0 || m > kMaxInteger)
        fail_node(*node_, "multiplier", std::to_string(m), fmt::format("0 to {}", kMaxInteger));
      const Interval p{checked(Int128{x.low} * m), checked(Int128{x.high} * m)};
      product = {std::min(product.low, p.low), std::max(product.high, p.high)};
      const auto rounded = [&](std::int64_t number) {
        return std::clamp(rounded_shift(number, static_cast<int>(op.shift)), op.low, op.high);
      };
      return {rounded(p.low), rounded(p.high)};
    });
  }

  Channels of(const Table& op) const {
    const Interval x = in().hull();
    if (!x.is_within(op.first, op.first + kTableEntries - 1)) {
      fail_node(*node_, "input", fmt::format("{} to {}", x.low, x.high),
                fmt::format("{} to {}, the entries of the table", op.first,
                            op.first + kTableEntries - 1));
    }
    const std::vector<std::int64_t> table = integers("table");
    const auto [least, most] = std::ranges::minmax(table);
    return {width(), {least, most}};
  }

  Channels of(const SoftmaxTable& op) const {
    const std::vector<std::int64_t> table = integers("table");
    const auto [least, most] = std::ranges::minmax(table);
    if (least < 0 || most > kMaxInteger || table[0] == 0) {
      fail_node(*node_, "table", fmt::format("{} to {}", least, most),
                "0 to 2^31 - 1, the first above 0");
    }
    (void)checked((Int128{2} * op.high + static_cast<std::int64_t>(width())) *
                  most);  // 2·high·t + Σ t
    return {width(), {0, op.high}};
  }

  Channels of(const ArgMax&) const { return {1, {0, shapes_[node_->inputs[0]][0] - 1}}; }

  Channels of(const OfReals auto&) const {
    fail_node(*node_, "operation", name_of(node_->op), "one of integers");
  }

  const Model& model_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  std::vector<NodeBounds> bounds_;
  std::vector<Channels> channels_;  // by node
  const Node* node_ = nullptr;
  std::size_t index_ = 0;
};

}  // namespace

Interval Interval::joined_with(const Interval& other) const {
  return {std::min(low, other.low), std::max(high, other.high)};
}

int Interval::signed_bits() const {
  const std::uint64_t most = std::max(magnitude_of(high), low < 0 ? magnitude_of(low) - 1 : 0);
  return static_cast<int>(std::bit_width(most)) + 1;
}

std::vector<NodeBounds> prove_bounds(const Model& model) {
  return BoundsProver(model).prove();
}

}  // namespace nibble::inline graph
