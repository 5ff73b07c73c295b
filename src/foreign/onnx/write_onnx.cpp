// SPDX-License-Identifier: Apache-2.0
// Writes a network of integers as float operations between pairs of QuantizeLinear and
// DequantizeLinear.
#include "nibble/foreign/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "foreign/onnx/graph_writer.h"
#include "foreign/onnx/strided_copy.h"
#include "foreign/onnx/value_units.h"
#include "graph/integer_form.h"
#include "graph/mean_factors.h"
#include "graph/node_error.h"
#include "graph/parameters.h"

namespace nibble::inline foreign {
namespace {

using List = std::vector<std::int64_t>;

constexpr double kEqual = 1e-5;  // factors this near to 1 come from the rounding of multipliers

// A value of the network as the file has it.
struct Written {
  std::string name;                                                // of the float tensor
  Units unit;                                                      // what an integer stands for
  std::optional<std::array<std::int64_t, 3>> flattened_from = {};  // (channels, rows, columns)
};

double pick(const Units& units, std::size_t channel) {
  return units[units.size() == 1 ? 0 : channel];
}

Tensor floats_of(const Units& numbers, const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  std::ranges::transform(numbers, tensor.as<float>().begin(),
                         [](double each) { return static_cast<float>(each); });
  return tensor;
}

class QdqWriter {
 public:
  explicit QdqWriter(const Model& model)
      : model_(model),
        shapes_(infer_shapes(model.network)),
        parameters_(checked_parameters(model)),
        units_(wanted_units(model)),
        graph_(model.network.name) {}

  void write(const std::filesystem::path& path) {
    const std::vector<Node>& nodes = model_.network.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      index_ = i;
      values_.push_back(std::visit([&](const auto& op) { return of(op); }, nodes[i].op));
    }
    const std::string last = graph_.add("Identity", {values_.back().name}, "output");
    graph_.set_output(last, extents_of_example(shapes_.back()));
    graph_.write(path);
  }

 private:
  const Node& node() const { return model_.network.nodes[index_]; }
  const Written& in(std::size_t k = 0) const { return values_[node().inputs[k]]; }
  const Shape& in_shape() const { return shapes_[node().inputs[0]]; }

  static List extents_of_example(const Shape& shape) {
    if (shape.rank() == 3) return {shape[2], shape[0], shape[1]};
    return {shape.extents().begin(), shape.extents().end()};
  }

  const Tensor* find_tensor(std::string_view kind) const {
    const std::size_t at = find_parameter(parameters_, index_, kind);
    return at < parameters_.size() ? &model_.parameters[at] : nullptr;
  }
  List integers(std::string_view kind) const {
    const std::size_t at = find_parameter(parameters_, index_, kind);
    return integers_of(parameters_[at], model_.parameters[at]);
  }

  // One number a channel of this node's value, as a tensor that broadcasts over it.
  Tensor channel_tensor(const Units& numbers, const Written& value) const {
    const auto count = static_cast<std::int64_t>(numbers.size());
    Tensor list = floats_of(numbers, Shape{1, count});
    if (value.flattened_from && count > 1)
      list = channels_first(list.view(), *value.flattened_from);
    if (shapes_[index_].rank() != 3) return list;
    return reshaped(list.view(), Shape{1, count, 1, 1});
  }

  // Columns (rows, columns, channels) as ONNX has them, (channels, rows, columns).
  static Tensor channels_first(ConstTensorView weight, const std::array<std::int64_t, 3>& picture) {
    const auto [channels, rows, columns] = picture;
    const ConstTensorView split(weight.data(), weight.dtype(),
                                Shape{weight.shape()[0], rows, columns, channels});
    return reshaped(transposed(split, std::array<std::int64_t, 4>{0, 3, 1, 2}).view(),
                    weight.shape());
  }

  Written of(const Input& op) {
    graph_.set_input("input", extents_of_example(op.shape));
    const auto format = code_format(node().value);
    if (!format) fail_node(node(), "format", to_string(node().value.format), "integers of 8 bits");
    const auto* grid = std::get_if<GridElement>(&node().value.format.element);
    const auto low = static_cast<std::int64_t>(grid->lowest_n()) - format->zero;
    const auto high = static_cast<std::int64_t>(grid->highest_n()) - format->zero;
    return rounded({.name = "input", .unit = units_[0]}, *format, low, high);
  }

  Written of(const Conv2d& op) {
    const std::vector<std::int8_t> weights = weights_of(model_.network, weight(), weight_tensor());
    const ConstTensorView view = ConstTensorView(reinterpret_cast<const std::byte*>(weights.data()),
                                                 DType::i8, weight().shape);
    Written result =
        product("Conv", transposed(view, std::array<std::int64_t, 4>{0, 3, 1, 2}), op.has_bias);
    graph_.with("kernel_shape", List{op.kernel.y, op.kernel.x});
    graph_.with("strides", List{op.stride.y, op.stride.x});
    graph_.with("pads", List{op.padding.y, op.padding.x, op.padding.y, op.padding.x});
    graph_.with("dilations", List{op.dilation.y, op.dilation.x});
    graph_.with("group", op.groups);
    return result;
  }

  Written of(const Linear& op) {
    const std::vector<std::int8_t> weights = weights_of(model_.network, weight(), weight_tensor());
    const ConstTensorView view = ConstTensorView(reinterpret_cast<const std::byte*>(weights.data()),
                                                 DType::i8, weight().shape);
    Tensor matrix =
        in().flattened_from ? channels_first(view, *in().flattened_from) : copy_of(view);
    Written result = product("Gemm", std::move(matrix), op.has_bias);
    graph_.with("transB", std::int64_t{1});
    return result;
  }

  const Parameter& weight() const {
    return parameters_[find_parameter(parameters_, index_, "weight")];
  }
  const Tensor& weight_tensor() const { return *find_tensor("weight"); }

  // step of the weight = unit of the sum / unit of the input.
  Written product(const std::string& op, const Tensor& weight, bool has_bias) {
    const std::string& name = node().name;
    if (in().unit.size() != 1) fail_node(node(), "input", "sums", "integers of one scale");
    const Units& own = units_[index_];
    Units steps;
    for (const double unit : own) steps.push_back(unit / in().unit[0]);
    std::vector<std::string> inputs{in().name};
    inputs.push_back(dequantized(name + ".weight", weight, steps));
    if (has_bias) {
      const List bias = integers("bias");
      Tensor numbers(DType::i32, Shape{static_cast<std::int64_t>(bias.size())});
      std::ranges::transform(bias, numbers.as<std::int32_t>().begin(),
                             [](std::int64_t each) { return static_cast<std::int32_t>(each); });
      inputs.push_back(dequantized(name + ".bias", numbers, own));
    }
    return {.name = graph_.add(op, inputs, name), .unit = own};
  }

  std::string dequantized(const std::string& name, const Tensor& codes, const Units& steps) {
    const auto count = static_cast<std::int64_t>(steps.size());
    const Shape shape = count == 1 ? Shape{} : Shape{count};
    const std::string output =
        graph_.add("DequantizeLinear",
                   {graph_.store(name + ".codes", codes.view()),
                    graph_.store(name + ".scale", floats_of(steps, shape).view())},
                   name);
    if (count > 1) graph_.with("axis", std::int64_t{0});
    return output;
  }

  Written of(const Bias&) {
    Units numbers;
    const List bias = integers("bias");
    for (std::size_t c = 0; c < bias.size(); ++c) {
      numbers.push_back(static_cast<double>(bias[c]) * pick(in().unit, c));
    }
    Written result = in();
    const Tensor tensor = channel_tensor(numbers, result);
    result.name = graph_.add("Add", {in().name, graph_.store(node().name + ".bias", tensor.view())},
                             node().name);
    return result;
  }

  Written of(const Relu&) {
    Written result = in();
    result.name = graph_.add("Relu", {in().name}, node().name);
    return result;
  }

  Written of(const MaxPool& op) { return pooled("MaxPool", op); }
  Written of(const SumPool& op) {
    Written result = pooled("AveragePool", op);
    graph_.with("count_include_pad", std::int64_t{op.mean_bits > 0 ? 0 : 1});
    for (double& unit : result.unit) unit /= parts_of_mean(op);
    return result;
  }
  template <class Pool>
  Written pooled(const std::string& kind, const Pool& op) {
    Written result = in();
    result.name = graph_.add(kind, {in().name}, node().name);
    graph_.with("kernel_shape", List{op.kernel.y, op.kernel.x});
    graph_.with("strides", List{op.stride.y, op.stride.x});
    graph_.with("pads", List{op.padding.y, op.padding.x, op.padding.y, op.padding.x});
    return result;
  }

  Written of(const Add&) {
    Written sum = in();
    for (std::size_t k = 1; k < node().inputs.size(); ++k) {
      const Written other = in_unit(in(k), sum.unit, fmt::format("{}.{}", node().name, k + 1));
      const bool is_last = k + 1 == node().inputs.size();
      sum.name = graph_.add("Add", {sum.name, other.name},
                            is_last ? node().name : fmt::format("{}.sum{}", node().name, k));
    }
    return sum;
  }

  Written of(const Concat&) {
    std::vector<std::string> names;
    Units units;
    for (std::size_t k = 0; k < node().inputs.size(); ++k) {
      if (in(k).flattened_from) fail_node(node(), "input", "a flattened picture", "another value");
      const Shape& shape = shapes_[node().inputs[k]];
      names.push_back(in(k).name);
      for (std::int64_t c = 0; c < shape[shape.rank() - 1]; ++c) {
        units.push_back(pick(in(k).unit, static_cast<std::size_t>(c)));
      }
    }
    if (std::ranges::all_of(units, [&](double each) { return each == units[0]; })) units.resize(1);
    Written result{.name = graph_.add("Concat", names, node().name), .unit = std::move(units)};
    graph_.with("axis", std::int64_t{1});
    return result;
  }

  Written of(const Slice& op) {
    Written result = moved();
    List ends;
    for (std::size_t i = 0; i < op.end.size(); ++i) {
      ends.push_back(op.end[i] == 0 ? in_shape()[i] : op.end[i]);
    }
    const std::string& name = node().name;
    List axes;
    for (std::size_t i = 0; i < ends.size(); ++i) axes.push_back(static_cast<std::int64_t>(i) + 1);
    result.name = graph_.add(
        "Slice",
        {in().name, graph_.store(name + ".starts", channels_to_front(op.begin)),
         graph_.store(name + ".ends", channels_to_front(ends)), graph_.store(name + ".axes", axes),
         graph_.store(name + ".steps", channels_to_front(op.step))},
        name);
    return result;
  }

  Written of(const Pad& op) {
    Written result = moved();
    List pads{0};
    std::ranges::copy(channels_to_front(op.before), std::back_inserter(pads));
    pads.push_back(0);
    std::ranges::copy(channels_to_front(op.after), std::back_inserter(pads));
    result.name =
        graph_.add("Pad", {in().name, graph_.store(node().name + ".pads", pads)}, node().name);
    return result;
  }

  // Values of one unit whose order is ONNX's.
  Written moved() const {
    if (in().unit.size() != 1 || in().flattened_from) {
      fail_node(node(), "input", "sums or a flattened picture", "integers of one scale");
    }
    return in();
  }

  static List channels_to_front(List list) {
    std::rotate(list.begin(), list.end() - 1, list.end());
    return list;
  }

  Written of(const Flatten&) {
    Written result = in();
    result.name = graph_.add("Flatten", {in().name}, node().name);
    const Shape& shape = in_shape();
    if (shape.rank() != 3) return result;
    const std::int64_t pixels = shape[0] * shape[1];
    if (pixels > 1 && shape[2] > 1) result.flattened_from = {shape[2], shape[0], shape[1]};
    if (result.unit.size() > 1) {
      const Units one = result.unit;
      for (std::int64_t i = 1; i < pixels; ++i) {
        result.unit.insert(result.unit.end(), one.begin(), one.end());
      }
    }
    return result;
  }

  Written of(const Rescale& op) {
    const Units factors = factors_of(op, integers("multiplier"));
    Written value = in();
    // Its integers, as they are, would have this unit after the rescale.
    const std::size_t channels = std::max(factors.size(), value.unit.size());
    Units after(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const double factor = pick(factors, c);
      after[c] = factor > 0 ? pick(value.unit, c) / factor : 0;  // 0: the channel is 0
    }
    if (op.has_divisor) units_[index_] = {after[0]};  // no format says it
    value.unit = after;
    value = in_unit(std::move(value), units_[index_], node().name + ".scaled");
    if (const auto format = code_format(node().value)) {
      return rounded(std::move(value), *format, op.low, op.high);
    }
    return clipped(std::move(value), op.low > -kMaxInteger, op.low, op.high < kMaxInteger, op.high);
  }

  // The same integers with another unit: their real numbers are multiplied.
  Written in_unit(Written value, const Units& unit, const std::string& name) {
    Units ratio(std::max(value.unit.size(), unit.size()));
    bool is_equal = true;
    for (std::size_t c = 0; c < ratio.size(); ++c) {
      const double before = pick(value.unit, c);
      ratio[c] = before > 0 ? pick(unit, c) / before : 0;
      is_equal = is_equal && std::abs(ratio[c] - 1) < kEqual;
    }
    value.unit = unit;
    if (is_equal) return value;
    const Tensor factors = channel_tensor(ratio, value);
    value.name =
        graph_.add("Mul", {value.name, graph_.store(name + ".factor", factors.view())}, name);
    return value;
  }

  Written clipped(Written value, bool has_low, std::int64_t low, bool has_high, std::int64_t high) {
    const std::string name = node().name + ".clip";
    if (has_low && low == 0 && !has_high) {
      value.name = graph_.add("Relu", {value.name}, name);
    } else if (has_low || has_high) {
      if (value.unit.size() != 1) fail_node(node(), "range", "narrow", "that of 32 bits");
      const double unit = value.unit[0];
      const auto bound = [&](bool has, std::int64_t at, const std::string& end) {
        return has ? graph_.store(name + end, static_cast<float>(static_cast<double>(at) * unit))
                   : std::string();
      };
      value.name = graph_.add(
          "Clip", {value.name, bound(has_low, low, ".low"), bound(has_high, high, ".high")}, name);
    }
    return value;
  }

  // Bytes saturate by themselves; int8 without -128 differs from that by the one step.
  Written rounded(Written value, const CodeFormat& format, std::int64_t low, std::int64_t high) {
    value = clipped(std::move(value), low > format.least() + 1, low, high < format.most(), high);
    const std::string& name = node().name;
    Tensor zero(format.is_signed ? DType::i8 : DType::u8, {});
    zero.data()[0] = static_cast<std::byte>(static_cast<std::uint8_t>(format.zero));
    const std::vector<std::string> how{graph_.store(name + ".scale", format.scale),
                                       graph_.store(name + ".zero", zero.view())};
    const std::string codes =
        graph_.add("QuantizeLinear", {value.name, how[0], how[1]}, name + ".codes");
    value.name = graph_.add("DequantizeLinear", {codes, how[0], how[1]}, name + ".value");
    value.unit = {double{format.scale}};
    return value;
  }

  template <class Other>
  requires OfReals<Other> || OneOf<Other, Table, SoftmaxTable, ArgMax> Written of(const Other&) {
    fail_node(node(), "layer", name_of(node().op), "one that ONNX's quantized models have");
  }

  const Model& model_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  std::vector<Units> units_;
  GraphWriter graph_;
  std::vector<Written> values_;  // by node
  std::size_t index_ = 0;
};

}  // namespace

void write_onnx(const Model& model, const std::filesystem::path& path) {
  const Model integers = integer_form(copy_of(model));
  QdqWriter(integers).write(path);
}

}  // namespace nibble::inline foreign
