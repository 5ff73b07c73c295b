// SPDX-License-Identifier: Apache-2.0
// For tests: random networks that are possible, for rapidcheck.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/shapes.h"
#include "nibble/core/error.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

class NetworkGenerator {
 public:
  Network make() {
    network_.name = *any_text();
    Input input{
        .shape = from(0, 2) == 0 ? Shape{from(1, 30)} : Shape{from(4, 12), from(4, 12), from(1, 5)},
        .mean = {},
        .deviation = {}};
    if (flip()) input.mean.assign(channels_of(input.shape), any_float());
    if (flip()) input.deviation.assign(channels_of(input.shape), number(1, 100) / 64);
    add({.name = flip() ? "input" : "picture", .op = input, .value = precision()});
    const std::int64_t layers = from(0, 12);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    join();
    if (flip()) {
      const Op loss = flip() ? Op(SquaredError{}) : Op(SoftmaxCrossEntropy{number(0, 4) / 8});
      take_last(loss);
    } else if (flip()) {
      network_.class_names.assign(static_cast<std::size_t>(shapes_.back().elements()), "");
      for (std::string& name : network_.class_names) name = *any_text();
    }
    return network_;
  }

 private:
  static std::int64_t from(std::int64_t least, std::int64_t most) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, most + 1));  // any size
  }
  static float number(std::int64_t least, std::int64_t most) {
    return static_cast<float>(from(least, most));
  }
  static bool flip() { return *rc::gen::arbitrary<bool>(); }
  static float any_float() { return number(-(1 << 24), 1 << 24) * 0x1p-22F; }
  static rc::Gen<std::string> any_text() {
    return rc::gen::element<std::string>("", "net", "a \"b\" \\c", "zwölf ×", "=1+1", "# no",
                                         "'''");
  }
  static std::size_t channels_of(const Shape& shape) {
    return static_cast<std::size_t>(shape[shape.rank() - 1]);
  }
  static Extent2 extent(std::int64_t least, std::int64_t most) {
    return {from(least, most), from(least, most)};
  }

  // Most weights have none.
  static std::int64_t steps(std::int64_t outputs) {
    if (from(0, 3) > 0) return 0;
    return flip() ? 1 : outputs;
  }

  static Precision precision() {
    if (from(0, 3) > 0) return {};
    Precision result;
    result.format = parse_format(
        *rc::gen::element<std::string>("fp16", "e4m3", "int8", "fixed(8,4)", "bfp(8,block=32)",
                                       "mxfp4", "posit(8,1)", "nf4", "fp32"));
    result.rounding = parse_rounding(
        *rc::gen::element<std::string>("nearest-even", "toward-zero", "stochastic(16)"));
    if (flip()) result.overflow = Overflow::saturate;
    return result;
  }

  Op any_op(const Shape& in) const {
    switch (from(0, 14)) {
      case 0: {
        const std::int64_t channels = in.rank() == 3 ? in[2] : 1;
        const bool is_depthwise = flip();
        Conv2d conv{.channels = is_depthwise ? channels * from(1, 2) : from(1, 6),
                    .kernel = extent(1, 3),
                    .stride = extent(1, 2),
                    .padding = extent(0, 3),
                    .dilation = extent(1, 2),
                    .groups = is_depthwise ? channels : 1,
                    .has_bias = flip()};
        conv.weight_steps = steps(conv.channels);
        return conv;
      }
      case 1: {
        Linear linear{.features = from(1, 9), .has_bias = flip()};
        linear.weight_steps = steps(linear.features);
        return linear;
      }
      case 2:
        return MaxPool{extent(1, 3), extent(1, 3), extent(0, 1)};
      case 3:
        return AveragePool{extent(1, 3), extent(1, 3), extent(0, 1), flip()};
      case 4:
        return GlobalAveragePool{};
      case 5:
        return BatchNorm{number(1, 1000) * 1e-6F, number(0, 10) / 10};
      case 6: {
        Slice slice;
        for (const std::int64_t extent : in.extents()) {
          slice.begin.push_back(from(0, extent - 1));
          slice.end.push_back(flip() ? 0 : from(slice.begin.back() + 1, extent));
          slice.step.push_back(from(1, 3));
        }
        return slice;
      }
      case 7: {
        Pad pad;
        for (std::size_t i = 0; i < in.rank(); ++i) {
          pad.before.push_back(from(0, 2));
          pad.after.push_back(from(0, 2));
        }
        return pad;
      }
      case 8:
        return Flatten{};
      case 9:
        return Dropout{number(0, 9) / 10};
      case 10:
        return Bias{};
      case 11:
        return Relu6{};
      case 12:
        return FakeQuantize{-from(0, 128), from(1, 255)};
      default:
        return Relu{};
    }
  }

  // A layer on the last value, or beside it on an older one; what does not fit is left out.
  void add_layer() {
    const std::size_t last = network_.nodes.size() - 1;
    const std::size_t input =
        from(0, 3) > 0 ? last : static_cast<std::size_t>(from(0, static_cast<std::int64_t>(last)));
    const Op op = from(0, 9) == 0 ? Op(Add{}) : any_op(shapes_[input]);
    Node node{.name = fresh_name(), .op = op, .inputs = {input}, .value = precision()};
    if (is<Add>(op)) node.inputs.push_back(input);
    if (has_weight(op)) node.weight = precision();
    try {
      add(node);
    } catch (const Error&) {
    }
  }

  // Values that nobody took become one vector.
  void join() {
    std::vector<bool> is_read(network_.nodes.size());
    for (const Node& node : network_.nodes) {
      for (const std::size_t input : node.inputs) is_read[input] = true;
    }
    std::vector<std::size_t> open;
    const std::size_t count = network_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (is_read[i]) continue;
      add({.name = fresh_name(), .op = Flatten{}, .inputs = {i}});
      open.push_back(network_.nodes.size() - 1);
    }
    if (open.size() > 1) add({.name = fresh_name(), .op = Concat{}, .inputs = open});
  }

  void take_last(const Op& op) {
    add({.name = "loss", .op = op, .inputs = {network_.nodes.size() - 1}});
  }

  std::string fresh_name() const {
    const char* stem = *rc::gen::element<const char*>("conv", "relu", "a.b-c_", "X", "pool");
    return stem + std::to_string(network_.nodes.size());
  }

  void add(const Node& node) {
    check_node(node, network_.nodes.size());
    std::vector<Shape> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(shapes_[input]);
    shapes_.push_back(shape_of(node, inputs));
    network_.nodes.push_back(node);
  }

  Network network_;
  std::vector<Shape> shapes_;
};

inline rc::Gen<Network> any_network() {
  return rc::gen::exec([] { return NetworkGenerator().make(); });
}

}  // namespace nibble::inline graph
