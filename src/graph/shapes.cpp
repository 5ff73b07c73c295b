// SPDX-License-Identifier: Apache-2.0
// Shape inference. No number is multiplied before it is known to be small enough.
#include "graph/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

void check_number(const Node& node, std::string_view what, std::int64_t got, std::int64_t least) {
  if (got < least || got > kMaxNumber) {
    fail_node(node, what, std::to_string(got), fmt::format("{} to {}", least, kMaxNumber));
  }
}

// Of windows and borders.
void check_geometry(const Node& node, std::string_view what, std::int64_t got, std::int64_t least,
                    std::int64_t most) {
  check_number(node, what, got, least);
  if (got > most)
    fail_node(node, what, std::to_string(got), at_most("geometry", most), ErrorKind::limit);
}

// Shares of 0 to 1, without 1.
void check_share(const Node& node, std::string_view what, float got) {
  if (!(got >= 0 && got < 1)) fail_node(node, what, fmt::format("{}", got), "0 or more, below 1");
}

class ShapeRule {
 public:
  ShapeRule(const Node& node, std::span<const Shape> inputs, const Limits& most)
      : node_(node), inputs_(inputs), most_(most) {}

  Shape operator()(const Input& op) const {
    if (op.shape.rank() != 1 && op.shape.rank() != 3) {
      fail_node(node_, "shape", op.shape.to_string(), "(features) or (height, width, channels)");
    }
    for (const std::int64_t extent : op.shape.extents()) check_number(node_, "extent", extent, 1);
    check_channel_list("mean", op.mean, op.shape);
    check_channel_list("deviation", op.deviation, op.shape);
    for (const float deviation : op.deviation) {
      if (!(deviation > 0)) fail_node(node_, "deviation", fmt::format("{}", deviation), "above 0");
    }
    return made(op.shape.extents());
  }

  Shape operator()(const Conv2d& op) const {
    check_number(node_, "channels", op.channels, 1);
    check_extent("dilation", op.dilation, 1);
    check_number(node_, "groups", op.groups, 1);
    const Shape& in = picture();
    if (in[2] % op.groups != 0) {
      fail_node(node_, "groups", std::to_string(op.groups),
                fmt::format("a divisor of the {} channels that enter", in[2]));
    }
    if (op.channels % op.groups != 0) {
      fail_node(node_, "groups", std::to_string(op.groups),
                fmt::format("a divisor of its {} channels", op.channels));
    }
    check_kernel(op.kernel);
    check_steps(op.weight_steps, op.channels);
    (void)checked_shape(
        node_, "weight",
        std::array<std::int64_t, 4>{op.channels, op.kernel.y, op.kernel.x, in[2] / op.groups});
    return windows(op.kernel, op.stride, op.padding, op.dilation, op.channels);
  }

  Shape operator()(const Linear& op) const {
    check_number(node_, "features", op.features, 1);
    check_steps(op.weight_steps, op.features);
    const Shape& in = vector();
    (void)checked_shape(node_, "weight", std::array<std::int64_t, 2>{op.features, in[0]});
    return made(std::array<std::int64_t, 1>{op.features});
  }

  Shape operator()(const MaxPool& op) const { return pooled(op.kernel, op.stride, op.padding); }
  Shape operator()(const AveragePool& op) const { return pooled(op.kernel, op.stride, op.padding); }
  Shape operator()(const SumPool& op) const {
    const Shape shape = pooled(op.kernel, op.stride, op.padding);
    if (op.mean_bits < 0 || op.mean_bits > kMaxMeanBits ||
        (op.mean_bits > 0 && op.kernel.y > (std::int64_t{1} << op.mean_bits) / op.kernel.x)) {
      fail_node(node_, "mean_bits", std::to_string(op.mean_bits),
                fmt::format("0 to {}, and a kernel of at most 2^mean_bits taps", kMaxMeanBits));
    }
    return shape;
  }
  Shape operator()(const GlobalAveragePool&) const { return Shape{picture()[2]}; }

  Shape operator()(const BatchNorm& op) const {
    if (!(op.epsilon > 0 && std::isfinite(op.epsilon))) {
      fail_node(node_, "epsilon", fmt::format("{}", op.epsilon), "a number above 0");
    }
    if (!(op.momentum >= 0 && op.momentum <= 1)) {
      fail_node(node_, "momentum", fmt::format("{}", op.momentum), "0 to 1");
    }
    return inputs_[0];
  }

  Shape operator()(const FakeQuantize& op) const {
    if (op.low > 0 || op.high < 0 || op.low == op.high || op.low < -kMaxInteger ||
        op.high > kMaxInteger) {
      fail_node(node_, "grid", fmt::format("{} to {}", op.low, op.high), "integers around 0");
    }
    const std::int64_t channels = inputs_[0][inputs_[0].rank() - 1];
    if (op.steps != 1 && op.steps != channels) {
      fail_node(node_, "steps", std::to_string(op.steps),
                fmt::format("1 or {}, one a channel", channels));
    }
    return inputs_[0];
  }

  Shape operator()(const Add&) const {
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      if (inputs_[i] != inputs_[0]) {
        fail_node(node_, fmt::format("input {}", i + 1), inputs_[i].to_string(),
                  fmt::format("{} as the first", inputs_[0].to_string()));
      }
    }
    return inputs_[0];
  }

  Shape operator()(const Concat&) const {
    const std::size_t last = inputs_[0].rank() - 1;
    std::vector<std::int64_t> extents = extents_of(inputs_[0]);
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      std::vector<std::int64_t> other = extents_of(inputs_[i]);
      const bool is_fitting =
          other.size() == extents.size() &&
          std::equal(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(last),
                     other.begin());
      if (!is_fitting) {
        fail_node(node_, fmt::format("input {}", i + 1), inputs_[i].to_string(),
                  fmt::format("{} but for the last extent", inputs_[0].to_string()));
      }
      extents[last] += other[last];  // 2^22 inputs of 2^36: no overflow
    }
    return made(extents);
  }

  Shape operator()(const Slice& op) const {
    check_axis_list("begin", op.begin);
    check_axis_list("end", op.end);
    check_axis_list("step", op.step);
    std::vector<std::int64_t> extents = extents_of(inputs_[0]);
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const std::int64_t extent = extents[axis];
      const std::int64_t end = op.end[axis] == 0 ? extent : op.end[axis];
      check_number(node_, "begin", op.begin[axis], 0);
      check_number(node_, "step", op.step[axis], 1);
      if (op.begin[axis] >= end || end > extent) {
        fail_node(node_, fmt::format("axis {}", axis), fmt::format("{} to {}", op.begin[axis], end),
                  fmt::format("a range that is not empty, within 0 to {}", extent));
      }
      extents[axis] = (end - op.begin[axis] - 1) / op.step[axis] + 1;
    }
    return made(extents);
  }

  Shape operator()(const Pad& op) const {
    check_axis_list("before", op.before);
    check_axis_list("after", op.after);
    std::vector<std::int64_t> extents = extents_of(inputs_[0]);
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      check_geometry(node_, "before", op.before[axis], 0, most_.geometry);
      check_geometry(node_, "after", op.after[axis], 0, most_.geometry);
      extents[axis] += op.before[axis] + op.after[axis];
    }
    return made(extents);
  }

  Shape operator()(const Flatten&) const { return Shape{inputs_[0].elements()}; }

  Shape operator()(const Dropout& op) const {
    check_share(node_, "share", op.share);
    return inputs_[0];
  }
  Shape operator()(const SoftmaxCrossEntropy& op) const {
    check_share(node_, "smoothing", op.smoothing);
    (void)vector();
    return {};
  }
  Shape operator()(const SquaredError&) const {
    (void)vector();
    return {};
  }

  Shape operator()(const Rescale& op) const {
    if (op.shift < 0 || op.shift > kMaxRescaleShift) {
      fail_node(node_, "shift", std::to_string(op.shift), fmt::format("0 to {}", kMaxRescaleShift));
    }
    check_range(op.low, op.high);
    return inputs_[0];
  }
  Shape operator()(const Table& op) const {
    if (op.first < -kTableEntries || op.first > kTableEntries) {
      fail_node(node_, "first", std::to_string(op.first),
                fmt::format("{} to {}", -kTableEntries, kTableEntries));
    }
    return inputs_[0];
  }
  Shape operator()(const SoftmaxTable& op) const {
    check_number(node_, "high", op.high, 1);
    return vector();
  }
  Shape operator()(const ArgMax&) const {
    (void)vector();
    return Shape{1};
  }

  Shape operator()(const OneOf<Bias, Relu, Relu6> auto&) const { return inputs_[0]; }

 private:
  void check_range(std::int64_t low, std::int64_t high) const {
    if (low > high || low < -kMaxInteger || high > kMaxInteger) {
      fail_node(node_, "range", fmt::format("{} to {}", low, high),
                fmt::format("low to high within ±{}", kMaxInteger));
    }
  }

  static std::vector<std::int64_t> extents_of(const Shape& shape) {
    return {shape.extents().begin(), shape.extents().end()};
  }

  Shape made(std::span<const std::int64_t> extents) const {
    std::int64_t product = 1;
    for (const std::int64_t extent : extents) {
      if (extent > most_.values / product) {
        fail_node(node_, "value", fmt::format("{} numbers", fmt::join(extents, " x ")),
                  at_most("values", most_.values), ErrorKind::limit);
      }
      product *= extent;
    }
    return Shape(extents);
  }

  void check_extent(std::string_view what, Extent2 got, std::int64_t least) const {
    check_geometry(node_, fmt::format("{} y", what), got.y, least, most_.geometry);
    check_geometry(node_, fmt::format("{} x", what), got.x, least, most_.geometry);
  }
  // One as large as the picture is as good as a global pool.
  void check_kernel(Extent2 got) const {
    check_geometry(node_, "kernel y", got.y, 1, std::max(most_.geometry, inputs_[0][0]));
    check_geometry(node_, "kernel x", got.x, 1, std::max(most_.geometry, inputs_[0][1]));
  }

  const Shape& picture() const {
    if (inputs_[0].rank() != 3) {
      fail_node(node_, "input", inputs_[0].to_string(), "(height, width, channels)");
    }
    return inputs_[0];
  }
  const Shape& vector() const {
    if (inputs_[0].rank() != 1) {
      fail_node(node_, "input", inputs_[0].to_string(), "a vector; flatten makes one");
    }
    return inputs_[0];
  }

  void check_channel_list(std::string_view what, const std::vector<float>& list,
                          const Shape& shape) const {
    const std::int64_t channels = shape[shape.rank() - 1];
    if (list.empty()) return;
    if (static_cast<std::int64_t>(list.size()) != channels) {
      fail_node(node_, what, fmt::format("{} numbers", list.size()),
                fmt::format("none, or one for each of {} channels", channels));
    }
    for (const float x : list) {
      if (!std::isfinite(x)) fail_node(node_, what, fmt::format("{}", x), "finite numbers");
    }
  }

  void check_steps(std::int64_t steps, std::int64_t outputs) const {
    if (steps == 0 || steps == 1 || steps == outputs) return;
    fail_node(node_, "weight_steps", std::to_string(steps),
              fmt::format("0, 1 or {}, one an output", outputs));
  }

  void check_axis_list(std::string_view what, const std::vector<std::int64_t>& list) const {
    if (list.size() != inputs_[0].rank()) {
      fail_node(node_, what, fmt::format("{} numbers", list.size()),
                fmt::format("one for each axis of {}", inputs_[0].to_string()));
    }
  }

  Shape pooled(Extent2 kernel, Extent2 stride, Extent2 padding) const {
    const Shape& in = picture();
    check_kernel(kernel);
    if (padding.y >= kernel.y || padding.x >= kernel.x) {
      fail_node(node_, "padding", fmt::format("({}, {})", padding.y, padding.x),
                "less than the kernel, so that every window holds a value");
    }
    return windows(kernel, stride, padding, {1, 1}, in[2]);
  }

  // Positions of a window: all that lie within the padded picture.
  Shape windows(Extent2 kernel, Extent2 stride, Extent2 padding, Extent2 dilation,
                std::int64_t channels) const {
    check_extent("stride", stride, 1);
    check_extent("padding", padding, 0);
    const Shape& in = inputs_[0];
    const auto positions = [&](std::int64_t extent, std::int64_t k, std::int64_t s, std::int64_t p,
                               std::int64_t d) {
      const std::int64_t window = (k - 1) * d + 1;  // below 2^62
      const std::int64_t padded = extent + 2 * p;
      if (window > padded) {
        fail_node(node_, "window", fmt::format("{}", window),
                  fmt::format("at most the padded extent, {} of {}", padded, in.to_string()));
      }
      return (padded - window) / s + 1;
    };
    return made(std::array<std::int64_t, 3>{
        positions(in[0], kernel.y, stride.y, padding.y, dilation.y),
        positions(in[1], kernel.x, stride.x, padding.x, dilation.x), channels});
  }

  const Node& node_;
  std::span<const Shape> inputs_;
  const Limits& most_;
};

}  // namespace

Shape checked_shape(const Node& node, std::string_view what,
                    std::span<const std::int64_t> extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent > 0 && product > kMaxTensor / extent) {
      fail_node(node, what, "too many elements", fmt::format("at most {}", kMaxTensor));
    }
    product *= extent;
  }
  return Shape(extents);
}

Shape shape_of(const Node& node, std::span<const Shape> inputs) {
  return std::visit(ShapeRule(node, inputs, limits()), node.op);
}

std::vector<Shape> infer_shapes(const Network& network) {
  const Limits most = limits();
  check_structure(network, most);
  std::vector<Shape> shapes;
  shapes.reserve(network.nodes.size());
  std::vector<Shape> inputs;
  for (const Node& node : network.nodes) {
    inputs.clear();
    for (const std::size_t input : node.inputs) inputs.push_back(shapes[input]);
    shapes.push_back(std::visit(ShapeRule(node, inputs, most), node.op));
  }
  check_costs(network, shapes, most);
  const std::int64_t answers = shapes[output_of(network)].elements();
  if (!network.class_names.empty() &&
      static_cast<std::int64_t>(network.class_names.size()) != answers) {
    fail_node(network.nodes[output_of(network)], "class names",
              std::to_string(network.class_names.size()),
              fmt::format("none, or one for each of its {} values", answers));
  }
  return shapes;
}

}  // namespace nibble::inline graph
