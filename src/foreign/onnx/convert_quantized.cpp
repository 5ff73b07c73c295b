// SPDX-License-Identifier: Apache-2.0
// Quantized models: values that were rounded are kept as the numbers that they stand for, with a
// fake_quantize where ONNX rounds and the steps of integer weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "foreign/onnx/converters.h"

namespace nibble::inline foreign {
namespace {

using Proto = onnx::TensorProto;

struct CodeRange {
  std::int64_t low = 0;
  std::int64_t high = 255;
};

CodeRange range_of(int type) {
  switch (type) {
    case Proto::UINT8:
      return {0, 255};
    case Proto::INT8:
      return {-128, 127};
    case Proto::UINT16:
      return {0, 65535};
    case Proto::INT16:
      return {-32768, 32767};
    case kUint4Type:
      return {0, 15};
    case kInt4Type:
      return {-8, 7};
    default:
      throw Unsupported{fmt::format("to codes of type {}", type)};
  }
}

float step_of(const NodeView& node, const Constant& scale) {
  const float step =
      scale.shape().elements() == 1 && scale.is_float() ? scale.tensor->as<float>()[0] : 0.0F;
  if (!(step > 0 && std::isfinite(step))) {
    node.fail("scale", scale.shape().to_string(), "one number above 0");
  }
  return step;
}

// Of the inputs scale and zero point that begin at `first`.
ValueGrid grid_of(Translation& translation, const NodeView& node, std::size_t first) {
  ValueGrid grid{.step = step_of(node, translation.constant(node, first))};
  const Constant* zero = translation.find_constant(node, first + 1);
  const CodeRange range = range_of(zero != nullptr ? zero->type : static_cast<int>(Proto::UINT8));
  std::int64_t offset = 0;
  if (zero != nullptr) {
    if (zero->shape().elements() != 1) {
      node.fail("zero point", zero->shape().to_string(), "one number");
    }
    offset = to_integers(*zero)[0];
  }
  grid.low = range.low - offset;
  grid.high = range.high - offset;
  return grid;
}

// Rounds a value, unless it has that grid already.
Value rounded(Translation& translation, Activation x, const ValueGrid& grid) {
  if (x.grid == grid && !x.clip) return x;
  FakeQuantize op{.low = grid.low, .high = grid.high};
  if (x.clip) {
    const auto [low, high] = *x.clip;
    const auto bound = [&](float at) {  // of the grid, which has at most 17 bits
      return static_cast<std::int64_t>(std::clamp(std::round(at / grid.step), -0x1p17F, 0x1p17F));
    };
    if (!(low <= high)) throw Unsupported{"after a Clip to nothing"};
    op.low = std::clamp(bound(low), grid.low, grid.high);
    op.high = std::clamp(bound(high), grid.low, grid.high);
    x.clip.reset();
  }
  std::vector<Tensor> parameters;
  parameters.push_back(copy_of(view_of(std::span<const float>(&grid.step, 1))));
  const std::string& name = translation.builder().network().nodes[x.node].name;
  x.node = translation.builder().add(name + ".q", {.name = {}, .op = op, .inputs = {x.node}},
                                     std::move(parameters));
  x.grid = grid;
  return x;
}

Value rounded(Translation& translation, const NodeView& node, Value value, std::size_t first) {
  return rounded(translation, std::get<Activation>(std::move(value)),
                 grid_of(translation, node, first));
}

// A quantized input: its scale and zero point must be those it was made with.
Activation quantized_input(Translation& translation, const NodeView& node, std::size_t first) {
  const Activation& x = translation.activation(node, first);
  const ValueGrid grid = grid_of(translation, node, first + 1);
  if (!x.grid) return std::get<Activation>(rounded(translation, x, grid));
  if (x.grid != grid) throw Unsupported{"with another scale than its input was rounded with"};
  return x;
}

// One number for all, or one for each index of the axis; which of them an element has.
class AxisNumbers {
 public:
  AxisNumbers(const NodeView& node, const Constant& codes, const Constant& scale, std::int64_t axis)
      : count_(scale.shape().elements()) {
    if (count_ == 1) return;
    axis_ = axis_of(node, axis, codes.shape().rank());
    if (scale.shape().rank() != 1 || count_ != codes.shape()[axis_]) {
      node.fail("scales", scale.shape().to_string(), "one, or one for each index of the axis");
    }
    for (std::size_t i = axis_ + 1; i < codes.shape().rank(); ++i) run_ *= codes.shape()[i];
  }
  std::size_t axis() const { return axis_; }
  std::size_t of(std::int64_t element) const {
    return static_cast<std::size_t>(element / run_ % count_);
  }

 private:
  std::int64_t count_;
  std::size_t axis_ = 0;
  std::int64_t run_ = 1;
};

// The numbers that codes stand for. Codes of up to 8 bits are remembered, for the weights.
Constant dequantized(Translation& translation, const NodeView& node, std::size_t first,
                     std::int64_t axis) {
  const Constant& codes = translation.constant(node, first);
  const Constant& scale = translation.constant(node, first + 1);
  const Constant* zero = translation.find_constant(node, first + 2);
  if (codes.is_float() || !scale.is_float()) throw Unsupported{"of codes that are no integers"};
  if (zero != nullptr && zero->shape().elements() != scale.shape().elements()) {
    node.fail("zero points", zero->shape().to_string(), scale.shape().to_string());
  }
  const AxisNumbers which(node, codes, scale, axis);
  const std::vector<float> steps = to_reals(scale);
  const std::vector<std::int64_t> integers = to_integers(codes);
  const std::vector<std::int64_t> zeros =
      zero != nullptr ? to_integers(*zero) : std::vector<std::int64_t>(steps.size());
  translation.budget().take(codes.shape().elements());
  Tensor numbers(DType::f32, codes.shape());
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const std::size_t at = which.of(static_cast<std::int64_t>(i));
    const std::int64_t n = integers[i] - zeros[at];
    low = std::min(low, n);
    high = std::max(high, n);
    numbers.as<float>()[i] = static_cast<float>(n) * steps[at];
  }
  Constant constant = constant_of(std::move(numbers));
  const bool is_positive = std::ranges::all_of(steps, [](float step) { return step > 0; });
  if (is_positive && low >= -128 && high <= 127 && codes.tensor->dtype() != DType::i32) {
    const bool is_narrow = codes.type == kInt4Type || codes.type == kUint4Type;
    constant.grid = std::make_shared<const ConstantGrid>(ConstantGrid{
        .steps = steps, .axis = which.axis(), .bits = is_narrow && low >= -8 && high <= 7 ? 4 : 8});
  }
  return constant;
}

// A bias of 32-bit integers in units of (step of the input)·(step of the weight).
std::optional<Tensor> integer_bias(Translation& translation, const NodeView& node,
                                   std::size_t input, float step, const Constant& weight) {
  if (!node.has_input(input)) return {};
  const std::vector<std::int64_t> integers = to_integers(translation.constant(node, input));
  if (weight.grid == nullptr) throw Unsupported{"with weights beyond 8 bits"};
  const std::vector<float>& steps = weight.grid->steps;
  if (steps.size() != 1 && steps.size() != integers.size()) {
    node.fail("bias", fmt::format("{} numbers", integers.size()), std::to_string(steps.size()));
  }
  Tensor bias(DType::f32, Shape{static_cast<std::int64_t>(integers.size())});
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const double unit = double{step} * double{steps[steps.size() == 1 ? 0 : i]};
    bias.as<float>()[i] = static_cast<float>(static_cast<double>(integers[i]) * unit);
  }
  return bias;
}

// Codes of float weights, as QuantizeLinear of a constant gives them.
Value quantized_constant(Translation& translation, const NodeView& node) {
  const Constant& numbers = translation.constant(node, 0);
  const Constant& scale = translation.constant(node, 1);
  const Constant* zero = translation.find_constant(node, 2);
  const int type = zero != nullptr ? zero->type : static_cast<int>(Proto::UINT8);
  if (!numbers.is_float() || !scale.is_float() || (type != Proto::INT8 && type != Proto::UINT8) ||
      (zero != nullptr && zero->shape().elements() != scale.shape().elements())) {
    throw Unsupported{"of a constant, to other codes than bytes"};
  }
  const AxisNumbers which(node, numbers, scale, node.integer("axis", 1));
  const CodeRange range = range_of(type);
  const std::vector<float> steps = to_reals(scale);
  const std::vector<float> reals = to_reals(numbers);
  translation.budget().take(numbers.shape().elements());
  Tensor codes(type == Proto::INT8 ? DType::i8 : DType::u8, numbers.shape());
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::size_t at = which.of(static_cast<std::int64_t>(i));
    const auto offset = static_cast<float>(zero != nullptr ? to_integers(*zero)[at] : 0);
    const float code = std::clamp(std::nearbyint(reals[i] / steps[at]) + offset,
                                  static_cast<float>(range.low), static_cast<float>(range.high));
    const int integer = std::isnan(code) ? 0 : static_cast<int>(code);
    codes.data()[i] = static_cast<std::byte>(static_cast<std::uint8_t>(integer));
  }
  return Constant{std::make_shared<const Tensor>(std::move(codes)), type};
}

}  // namespace

Value convert_quantize_linear(Translation& translation, const NodeView& node) {
  if (translation.find_constant(node, 0) != nullptr) return quantized_constant(translation, node);
  return rounded(translation, node, translation.value(node, 0), 1);
}

Value convert_dequantize_linear(Translation& translation, const NodeView& node) {
  if (node.integer("block_size", 0) != 0) throw Unsupported{"in blocks"};
  if (translation.find_constant(node, 0) == nullptr) return quantized_input(translation, node, 0);
  return dequantized(translation, node, 0, node.integer("axis", 1));
}

Value convert_q_linear_conv(Translation& translation, const NodeView& node) {
  const Activation x = quantized_input(translation, node, 0);
  const Constant weight = dequantized(translation, node, 3, 0);
  std::optional<Tensor> bias = integer_bias(translation, node, 8, x.grid->step, weight);
  return rounded(translation, node, add_convolution(translation, node, x, weight, std::move(bias)),
                 6);
}

Value convert_q_linear_mat_mul(Translation& translation, const NodeView& node) {
  const Activation x = quantized_input(translation, node, 0);
  const Constant weight = dequantized(translation, node, 3, 1);
  return rounded(translation, node, add_linear(translation, node, x, weight, false, {}), 6);
}

Value convert_q_gemm(Translation& translation, const NodeView& node) {
  const Activation x = quantized_input(translation, node, 0);
  if (node.integer("transA", 0) != 0 || node.real("alpha", 1) != 1.0F) {
    throw Unsupported{"with transA or alpha"};
  }
  const bool is_transposed = node.integer("transB", 0) != 0;
  const Constant weight = dequantized(translation, node, 3, is_transposed ? 0 : 1);
  std::optional<Tensor> bias = integer_bias(translation, node, 6, x.grid->step, weight);
  Value product = add_linear(translation, node, x, weight, is_transposed, std::move(bias));
  return node.has_input(7) ? rounded(translation, node, std::move(product), 7) : product;
}

Value convert_q_linear_add(Translation& translation, const NodeView& node) {
  const Activation a = quantized_input(translation, node, 0);
  const Activation b = quantized_input(translation, node, 3);
  return rounded(translation, node, add_sum(translation, node, a, b), 6);
}

Value convert_q_linear_average_pool(Translation& translation, const NodeView& node) {
  if (node.integer("channels_last", 0) != 0) throw Unsupported{"with channels last"};
  (void)quantized_input(translation, node, 0);
  return rounded(translation, node, convert_average_pool(translation, node), 3);
}

Value convert_q_linear_global_average_pool(Translation& translation, const NodeView& node) {
  if (node.integer("channels_last", 0) != 0) throw Unsupported{"with channels last"};
  (void)quantized_input(translation, node, 0);
  return rounded(translation, node, convert_global_average_pool(translation, node), 3);
}

std::optional<Activation> rounded_answers(Translation& translation, Activation answers) {
  constexpr std::int64_t kMost = 32767;
  const auto [low, high] = *answers.clip;
  const bool is_quantized = std::ranges::any_of(
      translation.builder().network().nodes,
      [](const Node& node) { return std::holds_alternative<FakeQuantize>(node.op); });
  if (!is_quantized || low != -high || !(high > 0 && std::isfinite(high))) return std::nullopt;
  answers.clip.reset();
  const auto step = static_cast<float>(double{high} / static_cast<double>(kMost));
  return std::get<Activation>(rounded(translation, std::move(answers), {step, -kMost, kMost}));
}

}  // namespace nibble::inline foreign
