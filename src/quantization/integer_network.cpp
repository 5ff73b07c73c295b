// SPDX-License-Identifier: Apache-2.0
// Follows the values of a fake-quantized network, each as integers with the unit they count in, and
// writes the integer operations that make them.
#include "nibble/quantization/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "graph/fake_quantize.h"
#include "graph/integer_form.h"
#include "graph/mean_factors.h"
#include "graph/model_parts.h"
#include "graph/model_writer.h"
#include "graph/node_error.h"
#include "graph/parameters.h"
#include "quantization/integer_parts.h"
#include "quantization/quantization_points.h"

namespace nibble::inline quantization {
namespace {

constexpr double kSixth = 6;                                     // of relu6
constexpr std::int64_t kWidest = 32767;                          // of grids that a format has
constexpr const char* kFeatureFormat = "fixed(31,0,symmetric)";  // less a mean: 32 bits
constexpr double kMostMean = 1'073'741'823;
constexpr double kFineParts = 8;     // of a step: operands are rounded to half a unit of the sums
constexpr int kMeetingBits = 14;     // of sums below the step they are rounded to
constexpr int kPlacedMeanBits = 30;  // of means whose windows differ, value and factor
constexpr double kNoCap = std::numeric_limits<double>::infinity();

// real value = integer·unit[channel].
struct IntegerValue {
  std::size_t node = 0;      // in the new network
  std::vector<double> unit;  // one for all, or one a channel
  bool has_relu = false;     // still to be done
  double cap = kNoCap;       // of a relu6, still to be done
  bool is_rounded = false;   // by a fake_quantize: narrow, ready for products
  bool is_positive = false;  // of a rounded one
  std::int64_t most = 0;     // of a rounded one, the largest magnitude

  bool has_one_unit() const { return unit.size() == 1; }
};

class NetworkWriter {
 public:
  explicit NetworkWriter(const Model& model, IntegerForm form = IntegerForm::usual)
      : from_(model),
        form_(form),
        shapes_(infer_shapes(model.network)),
        parameters_(checked_parameters(model)),
        readers_(readers_of(model.network)),
        to_(model.network) {}

  Model write() {
    follow();
    settle(values_.back());
    return to_.finished();
  }

  std::vector<UnitChange> unit_changes() {
    follow();
    return std::move(changes_);
  }

  // By node of the fake-quantized network: the unit of its integers.
  std::vector<std::vector<double>> units() {
    follow();
    std::vector<std::vector<double>> units;
    for (const IntegerValue& each : values_) units.push_back(each.unit);
    return units;
  }

 private:
  void follow() {
    for (std::size_t i = 0; i <= output_of(from_.network); ++i) {
      index_ = i;
      node_ = &from_.network.nodes[i];
      values_.push_back(std::visit([&](const auto& op) { return of(op); }, node_->op));
    }
  }

  const IntegerValue& in(std::size_t k = 0) const { return values_[node_->inputs[k]]; }

  IntegerValue of(const Input& op) {
    Node input{.name = node_->name, .op = op};
    return {.node = to_.add(std::move(input)), .unit = {}};  // until its fake_quantize says
  }

  // Of integer features: (x - mean)·factor, where x - mean is whole.
  IntegerValue of(const BatchNorm& op) {
    if (!is<Input>(from_.network.nodes[node_->inputs[0]].op)) {
      fail_node(*node_, "layer", name_of(node_->op), "one that quantization knows");
    }
    Precision& precision = to_.node(in().node).value;
    precision.format = parse_format(kFeatureFormat);
    precision.rounding.mode = RoundingMode::nearest_away;
    const auto channels = static_cast<std::size_t>(shapes_[index_].elements());
    IntegerValue value{.node = in().node, .unit = {}};
    std::vector<Tensor> tensors;
    tensors.emplace_back(DType::i32, Shape{shapes_[index_].elements()});
    for (std::size_t c = 0; c < channels; ++c) {
      const auto at = [&](std::string_view kind) { return double{parameter(kind).as<float>()[c]}; };
      value.unit.push_back(at("scale") / std::sqrt(at("variance") + double{op.epsilon}));
      const double offset = at("shift") / value.unit.back() - at("mean");
      if (!(value.unit.back() > 0 && std::abs(offset) <= kMostMean)) {
        fail_node(*node_, "scale and mean", fmt::format("{} and {}", value.unit.back(), -offset),
                  "a scale above 0 and a mean of 31 bits");
      }
      tensors[0].as<std::int32_t>()[c] = static_cast<std::int32_t>(std::round(offset));
    }
    value.node =
        to_.add({.name = node_->name, .op = Bias{}, .inputs = {value.node}}, std::move(tensors));
    return value;
  }

  IntegerValue of(const FakeQuantize& op) {
    if (op.high > kWidest) return in_given_units();
    const float step = parameter("step").as<float>()[0];
    if (!(step > 0 && std::isfinite(step))) {
      fail_node(*node_, "step", fmt::format("{}", step), "a number above 0");
    }
    const Precision precision = grid_format(*node_, op, step);
    const IntegerValue& value = in();
    IntegerValue result{.node = value.node,
                        .unit = {double{step}},
                        .is_rounded = true,
                        .is_positive = op.low >= 0,
                        .most = std::max(-op.low, op.high)};
    if (value.unit.empty()) {
      to_.node(value.node).value = precision;
      to_.node(value.node).value.rounding.mode = RoundingMode::nearest_away;
      return result;
    }
    const double top = std::round(value.cap / step);
    RescaleNode rescale{
        .name = take_name(value.node),
        .input = value.node,
        .low = value.has_relu ? std::max<std::int64_t>(op.low, 0) : op.low,
        .high = top < static_cast<double>(op.high) ? static_cast<std::int64_t>(top) : op.high,
        .value = precision};
    for (const double unit : value.unit) rescale.factors.push_back(unit / double{step});
    // Answers are divided by floats in NVIDIA's form, whatever its other factors are.
    const bool is_answer = index_ == output_of(from_.network);
    result.node = add_rescale(to_, std::move(rescale), is_answer ? IntegerForm::usual : form_);
    return result;
  }

  // Not narrow, but counted in the unit of the sums that it will be added to.
  IntegerValue in_given_units() {
    const IntegerValue value = settled(in());
    IntegerValue result;
    for (const float step : parameter("step").as<float>()) result.unit.push_back(double{step});
    result.node = in_unit(value, result.unit, node_->name);
    return result;
  }

  IntegerValue of(const Conv2d& op) { return product(op); }
  IntegerValue of(const Linear& op) { return product(op); }

  template <class Product>
  IntegerValue product(Product op) {
    const IntegerValue value = settled(in());
    if (!value.is_rounded) {
      fail_node(*node_, "input", "sums that nothing rounds", "a fake_quantize before it");
    }
    if (op.weight_steps == 0) fail_node(*node_, "weight_steps", "0", "steps to round with");
    const IntegerGrid grid = grid_of(*node_, node_->weight.format);
    const std::span<const float> steps = parameter("step").as<float>();
    IntegerValue result;
    const std::vector<float> counted = counted_steps(steps);
    for (const float step : counted) result.unit.push_back(value.unit[0] * double{step});
    op.weight_steps = 0;
    std::vector<Tensor> tensors;
    tensors.push_back(integer_weights(parameter("weight"), steps, counted, grid));
    if (op.has_bias) tensors.push_back(integer_bias(*node_, parameter("bias"), result.unit));
    Node node{.name = node_->name, .op = op, .inputs = {value.node}};
    node.weight = integer_weight_format(grid);
    result.node = to_.add(std::move(node), std::move(tensors));
    return result;
  }

  IntegerValue of(const Bias&) {
    IntegerValue value = settled(in());
    value.is_rounded = false;
    std::vector<Tensor> tensors;
    tensors.push_back(integer_bias(*node_, parameter("bias"), value.unit));
    value.node =
        to_.add({.name = node_->name, .op = Bias{}, .inputs = {value.node}}, std::move(tensors));
    return value;
  }

  IntegerValue of(const Relu&) {
    IntegerValue value = in();
    value.has_relu = true;
    return value;
  }
  IntegerValue of(const Relu6&) {
    IntegerValue value = in();
    value.has_relu = true;
    value.cap = kSixth;
    return value;
  }

  // Max-pool, flatten, slice and pad: they move integers.
  IntegerValue moved(const Op& op) {
    IntegerValue value = settled(in());
    value.node = to_.add({.name = node_->name, .op = op, .inputs = {value.node}});
    return value;
  }
  IntegerValue of(const MaxPool& op) { return moved(op); }
  IntegerValue of(const Slice& op) { return moved_with_one_unit(op); }
  IntegerValue of(const Pad& op) { return moved_with_one_unit(op); }
  IntegerValue of(const Flatten& op) {
    IntegerValue value = moved(op);
    const auto elements = static_cast<std::size_t>(shapes_[index_].elements());
    if (value.has_one_unit()) return value;
    std::vector<double> units;
    while (units.size() < elements) units.insert(units.end(), value.unit.begin(), value.unit.end());
    value.unit = std::move(units);
    return value;
  }
  IntegerValue moved_with_one_unit(const Op& op) {
    if (!in().has_one_unit()) {
      fail_node(*node_, "input", "sums that nothing rounds", "a fake_quantize before it");
    }
    return moved(op);
  }

  IntegerValue of(const AveragePool& op) {
    const std::int64_t bits =
        kPlacedMeanBits - std::bit_width(static_cast<std::uint64_t>(in().most));
    const SumPool sums = sums_of(op, std::min(bits, kMaxMeanBits));
    if (sums.mean_bits > 0 && !in().is_rounded) {
      fail_node(*node_, "input", "sums that nothing rounds", "a fake_quantize before it");
    }
    return mean(sums, node_->name);
  }
  IntegerValue of(const GlobalAveragePool&) {
    const Shape& picture = shapes_[node_->inputs[0]];
    IntegerValue value = mean({{picture[0], picture[1]}, {1, 1}, {0, 0}}, node_->name + ".window");
    value.node = to_.add({.name = node_->name, .op = Flatten{}, .inputs = {value.node}});
    return value;
  }
  IntegerValue mean(const SumPool& pool, std::string name) {
    IntegerValue value = settled(in());
    value.is_rounded = false;
    for (double& unit : value.unit) unit /= parts_of_mean(pool);
    value.node = to_.add({.name = std::move(name), .op = pool, .inputs = {value.node}});
    return value;
  }

  // In the unit of the first operand that is a sum of products, so that it needs no rescale, unless
  // that is coarse for what is made of the sum; otherwise in a unit fine enough for all.
  IntegerValue of(const Add&) {
    std::vector<IntegerValue> operands;
    double coarsest = 0;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
      operands.push_back(settled(in(k)));
      coarsest = std::max(coarsest, std::ranges::max(operands.back().unit));
    }
    const auto sums = std::ranges::find(operands, false, &IntegerValue::is_rounded);
    const std::optional<double> step = step_of_sum();
    IntegerValue result;
    const bool is_fine =
        sums != operands.end() && (form_ == IntegerForm::nvidia || !step ||
                                   std::ranges::max(sums->unit) <= *step / kFineParts);
    if (is_fine) {
      result.unit = sums->unit;
    } else {
      result.unit = {std::ldexp(step.value_or(coarsest), -kMeetingBits)};
    }
    std::vector<std::size_t> inputs;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      inputs.push_back(in_unit(operands[k], result.unit, fmt::format("{}.{}", node_->name, k + 1)));
      if (inputs.back() != operands[k].node) changes_.push_back({index_, k, result.unit});
    }
    result.node = to_.add({.name = node_->name, .op = Add{}, .inputs = std::move(inputs)});
    return result;
  }

  // Of the fake_quantize that takes the sum of this add, maybe behind a relu.
  std::optional<double> step_of_sum() const {
    std::size_t sum = index_;
    while (readers_[sum].size() == 1) {
      sum = readers_[sum][0];
      if (!is<FakeQuantize>(from_.network.nodes[sum].op)) continue;
      return double{from_.parameters[find_parameter(parameters_, sum, "step")].as<float>()[0]};
    }
    return std::nullopt;
  }

  std::size_t in_unit(const IntegerValue& value, const std::vector<double>& unit,
                      std::string name) {
    if (is_same(value.unit, unit)) return value.node;
    RescaleNode rescale{.name = std::move(name),
                        .input = value.node,
                        .low = value.is_positive && form_ == IntegerForm::nvidia ? 0 : -kMaxInteger,
                        .high = kMaxInteger,
                        .value = {}};
    const std::size_t channels = std::max(value.unit.size(), unit.size());
    for (std::size_t c = 0; c < channels; ++c) {
      rescale.factors.push_back(value.unit[value.has_one_unit() ? 0 : c] /
                                unit[unit.size() == 1 ? 0 : c]);
    }
    return add_rescale(to_, std::move(rescale), form_);
  }

  // Steps are float32: units made of them differ by less.
  static bool is_same(const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(
        a, b, [](double x, double y) { return std::abs(x - y) <= 1e-6 * std::abs(y); });
  }

  // Integers of different units side by side: the rescale after it has a factor a channel.
  IntegerValue of(const Concat&) {
    std::vector<IntegerValue> operands;
    std::vector<std::size_t> inputs;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k) {
      operands.push_back(settled(in(k)));
      inputs.push_back(operands.back().node);
    }
    IntegerValue result;
    result.node = to_.add({.name = node_->name, .op = Concat{}, .inputs = inputs});
    const bool is_alike = std::ranges::all_of(operands, [&](const IntegerValue& each) {
      return each.is_rounded && each.unit == operands[0].unit;
    });
    if (is_alike) {
      result.unit = operands[0].unit;
      result.is_rounded = true;
      for (const IntegerValue& each : operands) result.most = std::max(result.most, each.most);
      return result;
    }
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Shape& shape = shapes_[node_->inputs[k]];
      const auto channels = static_cast<std::size_t>(shape[shape.rank() - 1]);
      for (std::size_t c = 0; c < channels; ++c)
        result.unit.push_back(operands[k].unit[operands[k].has_one_unit() ? 0 : c]);
    }
    return result;
  }

  IntegerValue of(const Dropout&) { return in(); }

  IntegerValue of(const OneOf<SoftmaxCrossEntropy, SquaredError, Rescale, SumPool, Table,
                              SoftmaxTable, ArgMax> auto&) {
    fail_node(*node_, "layer", name_of(node_->op), "one that quantization knows");
  }

  // With its relu done, as a node.
  IntegerValue settled(const IntegerValue& value) {
    if (value.unit.empty()) {
      fail_node(*node_, "input", "real numbers", "a fake_quantize after the input");
    }
    IntegerValue result = value;
    if (!value.has_relu) return result;
    if (value.cap != kNoCap) {
      fail_node(*node_, "input", "a relu6 that nothing rounds", "a fake_quantize after it");
    }
    result.node = to_.add({.name = to_.fresh_name(to_.node(value.node).name + ".relu"),
                           .op = Relu{},
                           .inputs = {value.node}});
    result.has_relu = false;
    return result;
  }
  void settle(IntegerValue& value) { value = settled(value); }

  // What is rounded has its name from what it stands for; the exact sum becomes NAME.sum.
  std::string take_name(std::size_t place) {
    const std::string& rounded = from_.network.nodes[node_->inputs[0]].name;
    if (to_.node(place).name == rounded) to_.node(place).name = to_.fresh_name(rounded + ".sum");
    return rounded;
  }

  const Tensor& parameter(std::string_view kind) const {
    return from_.parameters[find_parameter(parameters_, index_, kind)];
  }

  const Model& from_;
  IntegerForm form_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  std::vector<std::vector<std::size_t>> readers_;
  ModelWriter to_;
  std::vector<IntegerValue> values_;  // by node of the old network
  std::vector<UnitChange> changes_;
  const Node* node_ = nullptr;
  std::size_t index_ = 0;
};

}  // namespace

Model integer_network_of(const Model& fake_quantized, IntegerForm form) {
  return NetworkWriter(fake_quantized, form).write();
}

std::vector<UnitChange> unit_changes_of(const Model& fake_quantized, IntegerForm form) {
  return NetworkWriter(fake_quantized, form).unit_changes();
}

std::vector<std::vector<double>> units_of(const Model& fake_quantized) {
  return NetworkWriter(fake_quantized).units();
}

}  // namespace nibble::inline quantization
