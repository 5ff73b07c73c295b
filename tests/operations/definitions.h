// SPDX-License-Identifier: Apache-2.0
// Every operation by its formula in nibble/graph/op.h, in doubles: straight loops that share
// nothing with what is tested. Integers below 2^53 are exact. An operation without a formula here
// does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/integer_form.h"
#include "graph/parameters.h"
#include "nibble/graph/network.h"

namespace nibble {

using Reals = std::vector<double>;

enum class Numbers { reals, integers };  // integers: means are rounded to the nearest

// Those of integer-trained networks are reals, rounded to the formats of their values.
inline bool is_integer_trained(const Network& network) {
  return exponent_of(network.nodes[0].value).has_value();
}

class Definitions {
 public:
  explicit Definitions(const Model& model, Numbers numbers = Numbers::reals)
      : network_(model.network),
        shapes_(infer_shapes(network_)),
        parameters_(parameters_of(network_)),
        numbers_(numbers) {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      tensors_.push_back(reals_of(parameters_[p], model.parameters[p]));
      const int exponent = exponent_of_parameter(parameters_[p], model.parameters[p]);
      for (double& x : tensors_[p]) x = std::ldexp(x, exponent);
    }
  }

  const Shape& input_shape() const { return shapes_[0]; }

  // What the network answers to one example. Losses are not asked: see loss_of.
  Reals answer(const Reals& example) const {
    std::vector<Reals> values{example};
    for (std::size_t i = 1; i <= output_of(network_); ++i) {
      const Node& node = network_.nodes[i];
      At at{.index = i, .in = extents(shapes_[node.inputs[0]]), .out = extents(shapes_[i])};
      for (const std::size_t input : node.inputs) at.inputs.push_back(&values[input]);
      Reals value = std::visit([&](const auto& op) { return of(op, at); }, node.op);
      if (const auto exponent = exponent_of(node.value)) round_to_int8(value, *exponent);
      values.push_back(std::move(value));
    }
    return values.back();
  }

  // Of one example with that label.
  static double loss_of(const Op& loss, const Reals& answer, std::size_t label) {
    if (const auto* entropy = std::get_if<SoftmaxCrossEntropy>(&loss)) {
      const auto classes = static_cast<double>(answer.size());
      const auto smoothing = static_cast<double>(entropy->smoothing);
      double sum = 0;
      for (const double y : answer) sum += std::exp(y);
      double result = 0;
      for (std::size_t c = 0; c < answer.size(); ++c) {
        const double target = smoothing / classes + (c == label ? 1 - smoothing : 0);
        result -= target * (answer[c] - std::log(sum));
      }
      return result;
    }
    double result = 0;
    for (std::size_t c = 0; c < answer.size(); ++c)
      result += std::pow(answer[c] - (c == label ? 1 : 0), 2) / 2;
    return result;
  }

 private:
  // Of integer-trained networks. The sums before a norm are small enough to be normalized as they
  // are.
  int exponent_of_parameter(const Parameter& parameter, const Tensor& tensor) const {
    const Node& node = network_.nodes[parameter.node];
    if (!is<BatchNorm>(node.op))
      return exponent_of(parameter.kind == "bias" ? node.bias : node.weight).value_or(0);
    if (tensor.dtype() == DType::f32) return 0;
    if (parameter.is_trained) return -16;
    const Node& product = network_.nodes[node.inputs[0]];
    const int unit = exponent_of(product.weight).value() +
                     exponent_of(network_.nodes[product.inputs[0]].value).value() - 15;
    return parameter.kind == "mean" ? unit : 2 * unit;
  }

  struct Extents {
    std::int64_t y, x, c;
    std::size_t at(std::int64_t row, std::int64_t column, std::int64_t channel) const {
      return static_cast<std::size_t>((row * x + column) * c + channel);
    }
    bool has(std::int64_t row, std::int64_t column) const {
      return row >= 0 && row < y && column >= 0 && column < x;
    }
  };
  // A node at work.
  struct At {
    std::size_t index;
    Extents in;
    Extents out;
    std::vector<const Reals*> inputs = {};
    const Reals& input() const { return *inputs[0]; }
  };

  static Extents extents(const Shape& shape) {
    return shape.rank() == 3 ? Extents{shape[0], shape[1], shape[2]} : Extents{1, 1, shape[0]};
  }
  static Reals reals_of(const Parameter& parameter, const Tensor& tensor) {
    if (tensor.dtype() == DType::f32) {
      const auto numbers = tensor.as<float>();
      return {numbers.begin(), numbers.end()};
    }
    const std::vector<std::int64_t> numbers = integers_of(parameter, tensor);
    return {numbers.begin(), numbers.end()};
  }
  static void round_to_int8(Reals& value, int exponent) {
    const double unit = std::ldexp(1.0, exponent);
    for (double& x : value) x = unit * std::clamp(std::round(x / unit), -127.0, 127.0);
  }

  const Reals& parameter(const At& at, std::string_view kind) const {
    return tensors_[find_parameter(parameters_, at.index, kind)];
  }
  static double pick(const Reals& list, std::int64_t channel) {
    return list[list.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }

  // body(y, x, channel) of each number that comes out.
  template <class Body>
  static Reals each(const At& at, const Body& body) {
    Reals result;
    for (std::int64_t y = 0; y < at.out.y; ++y)
      for (std::int64_t x = 0; x < at.out.x; ++x)
        for (std::int64_t c = 0; c < at.out.c; ++c) result.push_back(body(y, x, c));
    return result;
  }
  // body(x, channel) of each number that enters.
  template <class Body>
  static Reals mapped(const At& at, const Body& body) {
    return each(at, [&](auto y, auto x, auto c) { return body(at.input()[at.in.at(y, x, c)], c); });
  }

  Reals of(const Conv2d& op, const At& at) const {
    const Reals& weight = parameter(at, "weight");
    const std::int64_t depth = at.in.c / op.groups;
    return each(at, [&](std::int64_t y, std::int64_t x, std::int64_t o) {
      double sum = op.has_bias ? pick(parameter(at, "bias"), o) : 0;
      const std::int64_t first = o / (op.channels / op.groups) * depth;
      for (std::int64_t ky = 0; ky < op.kernel.y; ++ky)
        for (std::int64_t kx = 0; kx < op.kernel.x; ++kx) {
          const std::int64_t row = y * op.stride.y - op.padding.y + ky * op.dilation.y;
          const std::int64_t column = x * op.stride.x - op.padding.x + kx * op.dilation.x;
          if (!at.in.has(row, column)) continue;
          for (std::int64_t i = 0; i < depth; ++i) {
            const std::int64_t w = ((o * op.kernel.y + ky) * op.kernel.x + kx) * depth + i;
            sum +=
                at.input()[at.in.at(row, column, first + i)] * weight[static_cast<std::size_t>(w)];
          }
        }
      return sum;
    });
  }
  Reals of(const Linear& op, const At& at) const {
    const Reals& weight = parameter(at, "weight");
    return each(at, [&](auto, auto, std::int64_t o) {
      double sum = op.has_bias ? pick(parameter(at, "bias"), o) : 0;
      for (std::size_t i = 0; i < at.input().size(); ++i)
        sum += at.input()[i] * weight[static_cast<std::size_t>(o) * at.input().size() + i];
      return sum;
    });
  }
  Reals of(const Bias&, const At& at) const {
    return mapped(at, [&](double x, auto c) { return x + pick(parameter(at, "bias"), c); });
  }
  Reals of(const Relu&, const At& at) const {
    return mapped(at, [](double x, auto) { return std::max(x, 0.0); });
  }
  Reals of(const Relu6&, const At& at) const {
    return mapped(at, [](double x, auto) { return std::clamp(x, 0.0, 6.0); });
  }

  // join(numbers of the window that are inside)
  template <class Pool, class Join>
  static Reals pooled(const Pool& op, const At& at, const Join& join) {
    return each(at, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      Reals inside;
      for (std::int64_t ky = 0; ky < op.kernel.y; ++ky)
        for (std::int64_t kx = 0; kx < op.kernel.x; ++kx) {
          const std::int64_t row = y * op.stride.y - op.padding.y + ky;
          const std::int64_t column = x * op.stride.x - op.padding.x + kx;
          if (at.in.has(row, column)) inside.push_back(at.input()[at.in.at(row, column, c)]);
        }
      return join(inside);
    });
  }
  static double sum_of(const Reals& list) {
    double sum = 0;
    for (const double each_one : list) sum += each_one;
    return sum;
  }
  double mean_of(const Reals& list, double count) const {
    const double mean = sum_of(list) / count;
    return numbers_ == Numbers::integers ? std::round(mean) : mean;
  }
  Reals of(const MaxPool& op, const At& at) const {
    return pooled(op, at, [](const Reals& list) { return *std::ranges::max_element(list); });
  }
  Reals of(const AveragePool& op, const At& at) const {
    const auto taps = static_cast<double>(op.kernel.y * op.kernel.x);
    return pooled(op, at, [&](const Reals& list) {
      return mean_of(list, op.counts_padding ? taps : static_cast<double>(list.size()));
    });
  }
  Reals of(const GlobalAveragePool&, const At& at) const {
    return each(at, [&](auto, auto, auto c) {
      Reals list;
      for (std::int64_t y = 0; y < at.in.y; ++y)
        for (std::int64_t x = 0; x < at.in.x; ++x) list.push_back(at.input()[at.in.at(y, x, c)]);
      return mean_of(list, static_cast<double>(list.size()));
    });
  }
  Reals of(const SumPool& op, const At& at) const {
    return pooled(op, at, [&](const Reals& list) {
      if (op.mean_bits == 0) return sum_of(list);
      const double whole = std::ldexp(1.0, static_cast<int>(op.mean_bits));
      return sum_of(list) * std::round(whole / static_cast<double>(list.size()));
    });
  }

  Reals of(const BatchNorm& op, const At& at) const {
    return mapped(at, [&](double x, auto c) {
      const double epsilon = is_integer_trained(network_) ? 0 : static_cast<double>(op.epsilon);
      const double deviation = std::sqrt(pick(parameter(at, "variance"), c) + epsilon);
      return (x - pick(parameter(at, "mean"), c)) / deviation * pick(parameter(at, "scale"), c) +
             pick(parameter(at, "shift"), c);
    });
  }
  Reals of(const Add&, const At& at) const {
    Reals result(at.input().size());
    for (const Reals* operand : at.inputs)
      for (std::size_t i = 0; i < result.size(); ++i) result[i] += (*operand)[i];
    return result;
  }
  Reals of(const Concat&, const At& at) const {
    const std::vector<std::size_t>& inputs = network_.nodes[at.index].inputs;
    return each(at, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      std::size_t k = 0;
      for (; c >= extents(shapes_[inputs[k]]).c; ++k) c -= extents(shapes_[inputs[k]]).c;
      return (*at.inputs[k])[extents(shapes_[inputs[k]]).at(y, x, c)];
    });
  }
  // Vectors have the last axis alone.
  static std::int64_t axis(const std::vector<std::int64_t>& list, std::size_t k,
                           std::int64_t missing) {
    if (list.size() == 3) return list[k];
    return k == 2 ? list[0] : missing;
  }
  Reals of(const Slice& op, const At& at) const {
    return each(at, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      return at.input()[at.in.at(axis(op.begin, 0, 0) + y * axis(op.step, 0, 1),
                                 axis(op.begin, 1, 0) + x * axis(op.step, 1, 1),
                                 axis(op.begin, 2, 0) + c * axis(op.step, 2, 1))];
    });
  }
  Reals of(const Pad& op, const At& at) const {
    return each(at, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      y -= axis(op.before, 0, 0);
      x -= axis(op.before, 1, 0);
      c -= axis(op.before, 2, 0);
      const bool is_inside = at.in.has(y, x) && c >= 0 && c < at.in.c;
      return is_inside ? at.input()[at.in.at(y, x, c)] : 0.0;
    });
  }
  Reals of(const Flatten&, const At& at) const { return at.input(); }
  Reals of(const FakeQuantize& op, const At& at) const {
    return mapped(at, [&](double x, auto c) {
      const double step = pick(parameter(at, "step"), c);
      return step * std::clamp(std::round(x / step), static_cast<double>(op.low),
                               static_cast<double>(op.high));
    });
  }
  Reals of(const Dropout&, const At& at) const { return at.input(); }

  Reals of(const Rescale& op, const At& at) const {
    return mapped(at, [&](double x, auto c) {
      const double product = x * pick(parameter(at, "multiplier"), c);
      return std::clamp(std::round(std::ldexp(product, -static_cast<int>(op.shift))),
                        static_cast<double>(op.low), static_cast<double>(op.high));
    });
  }
  Reals of(const Table& op, const At& at) const {
    return mapped(at, [&](double x, auto) {
      return parameter(at, "table")[static_cast<std::size_t>(x - static_cast<double>(op.first))];
    });
  }
  Reals of(const SoftmaxTable& op, const At& at) const {
    const double most = *std::ranges::max_element(at.input());
    const Reals terms = mapped(at, [&](double x, auto) {
      return parameter(at, "table")[static_cast<std::size_t>(std::min(most - x, 255.0))];
    });
    const double sum = sum_of(terms);
    Reals result;
    for (const double t : terms)
      result.push_back(std::floor((2 * static_cast<double>(op.high) * t + sum) / (2 * sum)));
    return result;
  }
  Reals of(const ArgMax&, const At& at) const {
    const auto largest = std::ranges::max_element(at.input());
    return {static_cast<double>(largest - at.input().begin())};
  }

  // What enters is given, and nobody asks for the value of a loss.
  Reals of(const Input&, const At& at) const { return at.input(); }
  Reals of(const SoftmaxCrossEntropy&, const At& at) const { return at.input(); }
  Reals of(const SquaredError&, const At& at) const { return at.input(); }

  Network network_;
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  Numbers numbers_;
  std::vector<Reals> tensors_;  // by parameter
};

}  // namespace nibble
