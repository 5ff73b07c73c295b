// SPDX-License-Identifier: Apache-2.0
// A network written as ONNX by hand is read as the network that answers alike; one of integers that
// is written and read again answers with what its integers stand for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/test_support.h"
#include "foreign/onnx/test_graph.h"
#include "foreign/onnx/value_units.h"
#include "graph/mean_factors.h"
#include "graph/test_network_maker.h"
#include "nibble/foreign/onnx.h"
#include "tests/operations/definitions.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

using List = std::vector<std::int64_t>;

// ONNX has channels before rows and columns.
List channels_first(const Shape& shape) {
  if (shape.rank() == 3) return {1, shape[2], shape[0], shape[1]};
  return {1, shape[0]};
}
List channels_first(List axes) {
  if (axes.size() == 3) std::rotate(axes.begin(), axes.end() - 1, axes.end());
  return axes;
}

// Writes a float network, node by node; onnx_name_of stands where ONNX knows nothing like it.
class OnnxGraph {
 public:
  explicit OnnxGraph(const Model& model)
      : model_(model),
        shapes_(infer_shapes(model.network)),
        parameters_(parameters_of(model.network)),
        graph_(channels_first(shapes_[0])) {
    for (index_ = 1; index_ < model.network.nodes.size(); ++index_)
      std::visit([&](const auto& op) { write(op); }, node().op);
  }

  Model read() const { return graph_.read(); }

 private:
  const Node& node() const { return model_.network.nodes[index_]; }
  const Shape& in() const { return shapes_[node().inputs[0]]; }
  std::string value(std::size_t index) const {
    if (index == 0) return "x";
    return index + 1 == model_.network.nodes.size() ? "y" : "v" + std::to_string(index);
  }
  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (const std::size_t each : node().inputs) names.push_back(value(each));
    return names;
  }
  std::string name(const std::string& kind) const { return node().name + "." + kind; }

  // A node that also takes constants.
  TestNode add(const std::string& op, const std::vector<std::string>& constants = {}) {
    std::vector<std::string> names = inputs();
    names.insert(names.end(), constants.begin(), constants.end());
    return graph_.node(op, names, value(index_));
  }

  std::vector<float> numbers(std::string_view kind) const {
    const auto all = model_.parameters[find_parameter(parameters_, index_, kind)].as<float>();
    return {all.begin(), all.end()};
  }
  std::string store(const std::string& kind, const List& extents, const std::vector<float>& list) {
    graph_.floats(name(kind), extents, list);
    return name(kind);
  }
  std::string store(const std::string& kind, const List& list) {
    graph_.integers(name(kind), list);
    return name(kind);
  }

  // (rows, taps, channels) as (rows, channels, taps).
  static std::vector<float> turned(const std::vector<float>& from, std::int64_t taps,
                                   std::int64_t channels) {
    std::vector<float> to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t row = at / (taps * channels);
      const std::int64_t tap = at / channels % taps;
      to[static_cast<std::size_t>((row * channels + at % channels) * taps + tap)] = from[i];
    }
    return to;
  }

  void write(const Conv2d& op) {
    const std::int64_t depth = in()[2] / op.groups;
    const std::int64_t taps = op.kernel.y * op.kernel.x;
    add("Conv", {store("weight", {op.channels, depth, op.kernel.y, op.kernel.x},
                       turned(numbers("weight"), taps, depth)),
                 store("bias", {op.channels}, numbers("bias"))})
        .with("strides", List{op.stride.y, op.stride.x})
        .with("pads", List{op.padding.y, op.padding.x, op.padding.y, op.padding.x})
        .with("group", op.groups);
  }
  // Its columns follow the picture that was flattened, if one was.
  void write(const Linear& op) {
    const std::size_t input = node().inputs[0];
    std::vector<float> weight = numbers("weight");
    if (is<Flatten>(model_.network.nodes[input].op)) {
      const Shape& picture = shapes_[model_.network.nodes[input].inputs[0]];
      weight = turned(weight, picture[0] * picture[1], picture[2]);
    }
    std::vector<std::string> constants{store("weight", {op.features, in()[0]}, weight)};
    if (op.has_bias) constants.push_back(store("bias", {op.features}, numbers("bias")));
    add("Gemm", constants).with("transB", std::int64_t{1});
  }
  void write(const Bias&) { add("Add", {store("bias", {in()[2], 1, 1}, numbers("bias"))}); }
  void write(const Relu&) { add("Relu"); }
  void write(const Relu6&) { add("Clip", {store("low", {}, {0}), store("high", {}, {6})}); }

  template <class Pool>
  TestNode pool(const std::string& kind, const Pool& op) {
    return add(kind)
        .with("kernel_shape", List{op.kernel.y, op.kernel.x})
        .with("strides", List{op.stride.y, op.stride.x})
        .with("pads", List{op.padding.y, op.padding.x, op.padding.y, op.padding.x});
  }
  void write(const MaxPool& op) { pool("MaxPool", op); }
  void write(const AveragePool& op) {
    pool("AveragePool", op).with("count_include_pad", std::int64_t{op.counts_padding ? 1 : 0});
  }
  void write(const GlobalAveragePool&) { add("GlobalAveragePool"); }

  void write(const BatchNorm& op) {
    std::vector<std::string> constants;
    for (const char* kind : {"scale", "shift", "mean", "variance"})
      constants.push_back(store(kind, {in()[2]}, numbers(kind)));
    add("BatchNormalization", constants).with("epsilon", op.epsilon);
  }
  void write(const Add&) { add("Add"); }
  void write(const Concat&) { add("Concat").with("axis", std::int64_t{1}); }
  void write(const Slice& op) {
    List ends = op.end;
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = ends[i] == 0 ? in()[i] : ends[i];
    add("Slice", {store("starts", channels_first(op.begin)), store("ends", channels_first(ends)),
                  store("axes", List{1, 2, 3}), store("steps", channels_first(op.step))});
  }
  void write(const Pad& op) {
    List pads{0};
    std::ranges::copy(channels_first(op.before), std::back_inserter(pads));
    pads.push_back(0);
    std::ranges::copy(channels_first(op.after), std::back_inserter(pads));
    add("Pad", {store("pads", pads)});
  }
  void write(const Flatten&) { add("Flatten"); }

  // Bytes, cut to the grid before.
  void write(const FakeQuantize& op) {
    const float step = numbers("step")[0];
    auto& zero = graph_.integers(name("zero"), {});
    zero.clear_dims();
    zero.set_data_type(onnx::TensorProto::INT8);
    zero.set_raw_data(std::string(1, '\0'));
    const std::string low = store("low", {}, {step * static_cast<float>(op.low)});
    const std::string high = store("high", {}, {step * static_cast<float>(op.high)});
    const std::vector<std::string> how{store("scale", {}, {step}), name("zero")};
    graph_.node("Clip", {inputs()[0], low, high}, name("cut"));
    graph_.node("QuantizeLinear", {name("cut"), how[0], how[1]}, name("codes"));
    graph_.node("DequantizeLinear", {name("codes"), how[0], how[1]}, value(index_));
  }
  void write(const Dropout&) { add("Dropout"); }

  // Its node is not read, or left out.
  template <class Other>
  void write(const Other&) {
    add(onnx_name_of(node().op));
  }

  const Model& model_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  TestGraph graph_;
  std::size_t index_ = 0;
};

bool is_left_out(const Op& op) {
  return is<Dropout>(op) || is<ArgMax>(op);
}

Reals numbers_between(Dice& dice, std::int64_t count, std::int64_t most, double unit) {
  Reals numbers;
  for (const std::int64_t each : dice.many(count, -most, most))
    numbers.push_back(unit * static_cast<double>(each));
  return numbers;
}

}  // namespace

std::string onnx_name_of(const Op& op) {
  if (is<SoftmaxCrossEntropy>(op)) return "SoftmaxCrossEntropyLoss";
  if (is<ArgMax>(op)) return "ArgMax";
  return std::string(name_of(op));
}

void try_onnx_in(const OperationCase& each) {
  Model model = with_floats(plain_network(each));
  const Model got = OnnxGraph(model).read();
  const bool is_there = std::ranges::any_of(
      got.network.nodes, [&](const Node& node) { return node.op.index() == each.op.index(); });
  EXPECT_EQ(is_there, !is_left_out(each.op));
  if (is<ArgMax>(each.op)) model.network.nodes.pop_back();
  Dice dice(6);
  for (int example = 0; example < 3; ++example) {
    const Reals input = numbers_between(dice, each.input.elements(), 1000, 1.0 / 300);
    const Reals wanted = Definitions(model).answer(input);
    const Reals answer = Definitions(got).answer(input);
    ASSERT_EQ(answer.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(answer[i], wanted[i], 1e-5) << i;
  }
}

void try_onnx_out(const OperationCase& each) {
  const Model model = integer_model(each);
  const TemporaryFolder folder;
  write_onnx(model, folder.path() / "it.onnx");
  const Model got = read_onnx(folder.path() / "it.onnx");
  const bool is_trained = is_integer_trained(model.network);
  const Definitions definitions(model, is_trained ? Numbers::reals : Numbers::integers);
  double unit = is_trained ? 1 : unit_of(model.network.nodes[output_of(model.network)]);
  if (const auto* sums = std::get_if<SumPool>(&each.op)) unit /= parts_of_mean(*sums);  // as a mean
  Dice dice(7);
  for (int example = 0; example < 3; ++example) {
    const Reals input =
        numbers_between(dice, each.input.elements(), 127, unit_of(model.network.nodes[0]));
    const Reals wanted = definitions.answer(input);
    const Reals answer = Definitions(got).answer(input);
    ASSERT_EQ(answer.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(answer[i], unit * wanted[i], 1e-6 * (1 + std::abs(answer[i]))) << i;
  }
}

}  // namespace nibble
