// SPDX-License-Identifier: Apache-2.0
// The definition of every operation on integers.
#include "graph/defined_network.h"

#include <algorithm>

#include "graph/parameters.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

// A node at work.
class DefinedNode {
 public:
  using Inputs = std::vector<const Integers*>;

  DefinedNode(const Network& network, const std::vector<Shape>& shapes, const Integers& weight,
              const Integers& bias, std::size_t index)
      : network_(network), shapes_(shapes), weight_(weight), bias_(bias), index_(index) {}

  Integers value(const Inputs& inputs) const {
    return std::visit([&](const auto& op) { return of(op, inputs); }, network_.nodes[index_].op);
  }

 private:
  struct Extents {
    std::int64_t y, x, c;
  };
  static Extents extents(const Shape& shape) {
    return shape.rank() == 3 ? Extents{shape[0], shape[1], shape[2]} : Extents{1, 1, shape[0]};
  }
  Extents out() const { return extents(shapes_[index_]); }
  Extents in(std::size_t k = 0) const { return extents(shapes_[network_.nodes[index_].inputs[k]]); }
  static std::int64_t at(const Integers& v, Extents e, std::int64_t y, std::int64_t x,
                         std::int64_t c) {
    return v[static_cast<std::size_t>((y * e.x + x) * e.c + c)];
  }
  static bool holds(Extents e, std::int64_t y, std::int64_t x) {
    return y >= 0 && y < e.y && x >= 0 && x < e.x;
  }
  template <class Body>
  Integers each(const Body& body) const {
    Integers result;
    const Extents e = out();
    for (std::int64_t y = 0; y < e.y; ++y)
      for (std::int64_t x = 0; x < e.x; ++x)
        for (std::int64_t c = 0; c < e.c; ++c) result.push_back(body(y, x, c));
    return result;
  }
  static std::int64_t pick(const Integers& list, std::int64_t c) {
    return list.size() == 1 ? list[0] : list[static_cast<std::size_t>(c)];
  }

  Integers of(const Conv2d& op, const Inputs& inputs) const {
    const Extents e = in();
    const std::int64_t depth = e.c / op.groups;
    return each([&](std::int64_t y, std::int64_t x, std::int64_t o) {
      std::int64_t sum = op.has_bias ? pick(bias_, o) : 0;
      const std::int64_t group = o / (op.channels / op.groups);
      for (std::int64_t ky = 0; ky < op.kernel.y; ++ky)
        for (std::int64_t kx = 0; kx < op.kernel.x; ++kx)
          for (std::int64_t k = 0; k < depth; ++k) {
            const std::int64_t iy = y * op.stride.y + ky * op.dilation.y - op.padding.y;
            const std::int64_t ix = x * op.stride.x + kx * op.dilation.x - op.padding.x;
            if (!holds(e, iy, ix)) continue;
            const std::int64_t w = ((o * op.kernel.y + ky) * op.kernel.x + kx) * depth + k;
            sum +=
                at(*inputs[0], e, iy, ix, group * depth + k) * weight_[static_cast<std::size_t>(w)];
          }
      return sum;
    });
  }
  Integers of(const Linear& op, const Inputs& inputs) const {
    const std::size_t features = inputs[0]->size();
    return each([&](std::int64_t, std::int64_t, std::int64_t o) {
      std::int64_t sum = op.has_bias ? pick(bias_, o) : 0;
      for (std::size_t k = 0; k < features; ++k)
        sum += (*inputs[0])[k] * weight_[static_cast<std::size_t>(o) * features + k];
      return sum;
    });
  }
  Integers of(const Bias&, const Inputs& inputs) const {
    return each([&](auto y, auto x, auto c) {
      return at(*inputs[0], in(), y, x, c) + bias_[static_cast<std::size_t>(c)];
    });
  }
  Integers of(const Relu&, const Inputs& inputs) const {
    Integers result = *inputs[0];
    for (std::int64_t& x : result) x = x < 0 ? 0 : x;
    return result;
  }
  template <class Pool>
  Integers windows(const Pool& op, const Integers& input, bool is_sum) const {
    const Extents e = in();
    return each([&](std::int64_t y, std::int64_t x, std::int64_t c) {
      Integers found;
      const std::int64_t top = y * op.stride.y - op.padding.y;
      const std::int64_t left = x * op.stride.x - op.padding.x;
      const std::int64_t bottom = std::min(top + op.kernel.y, e.y);
      const std::int64_t right = std::min(left + op.kernel.x, e.x);
      for (std::int64_t iy = std::max<std::int64_t>(top, 0); iy < bottom; ++iy)
        for (std::int64_t ix = std::max<std::int64_t>(left, 0); ix < right; ++ix)
          found.push_back(at(input, e, iy, ix, c));
      std::int64_t sum = 0;
      for (const std::int64_t each_one : found) sum += each_one;
      if constexpr (requires { op.mean_bits; }) {
        const auto count = static_cast<std::int64_t>(found.size());
        if (op.mean_bits > 0) sum *= ((std::int64_t{2} << op.mean_bits) + count) / (2 * count);
      }
      return is_sum ? sum : *std::max_element(found.begin(), found.end());
    });
  }
  Integers of(const MaxPool& op, const Inputs& inputs) const {
    return windows(op, *inputs[0], false);
  }
  Integers of(const SumPool& op, const Inputs& inputs) const {
    return windows(op, *inputs[0], true);
  }
  Integers of(const Add&, const Inputs& inputs) const {
    Integers result(inputs[0]->size());
    for (const Integers* input : inputs)
      for (std::size_t k = 0; k < result.size(); ++k) result[k] += (*input)[k];
    return result;
  }
  Integers of(const Concat&, const Inputs& inputs) const {
    return each([&](std::int64_t y, std::int64_t x, std::int64_t c) {
      std::size_t k = 0;
      for (; c >= in(k).c; ++k) c -= in(k).c;
      return at(*inputs[k], in(k), y, x, c);
    });
  }
  static std::int64_t axis(const Integers& list, std::size_t k, std::int64_t otherwise) {
    if (list.size() == 3) return list[k];
    return k == 2 ? list[0] : otherwise;
  }
  Integers of(const Slice& op, const Inputs& inputs) const {
    return each([&](std::int64_t y, std::int64_t x, std::int64_t c) {
      return at(*inputs[0], in(), axis(op.begin, 0, 0) + y * axis(op.step, 0, 1),
                axis(op.begin, 1, 0) + x * axis(op.step, 1, 1),
                axis(op.begin, 2, 0) + c * axis(op.step, 2, 1));
    });
  }
  Integers of(const Pad& op, const Inputs& inputs) const {
    const Extents e = in();
    return each([&](std::int64_t y, std::int64_t x, std::int64_t c) {
      y -= axis(op.before, 0, 0);
      x -= axis(op.before, 1, 0);
      c -= axis(op.before, 2, 0);
      return holds(e, y, x) && c >= 0 && c < e.c ? at(*inputs[0], e, y, x, c) : std::int64_t{0};
    });
  }
  Integers of(const Flatten&, const Inputs& inputs) const { return *inputs[0]; }

  // ties away from zero
  static std::int64_t rounded(std::int64_t x, std::int64_t shift) {
    __extension__ typedef __int128 Wide;
    const Wide step = Wide{1} << shift;
    const Wide magnitude = x < 0 ? -Wide{x} : Wide{x};
    const auto result = static_cast<std::int64_t>((2 * magnitude + step) / (2 * step));
    return x < 0 ? -result : result;
  }
  Integers of(const Rescale& op, const Inputs& inputs) const {
    return each([&](auto y, auto x, auto c) {
      const std::int64_t y1 = rounded(at(*inputs[0], in(), y, x, c) * pick(weight_, c), op.shift);
      return y1 > op.high ? op.high : y1 < op.low ? op.low : y1;
    });
  }
  Integers of(const Table& op, const Inputs& inputs) const {
    Integers result = *inputs[0];
    for (std::int64_t& x : result) x = weight_.at(static_cast<std::size_t>(x - op.first));
    return result;
  }
  Integers of(const SoftmaxTable& op, const Inputs& inputs) const {
    const std::int64_t most = *std::max_element(inputs[0]->begin(), inputs[0]->end());
    Integers terms;
    std::int64_t sum = 0;
    for (const std::int64_t x : *inputs[0]) {
      terms.push_back(weight_.at(static_cast<std::size_t>(most - x > 255 ? 255 : most - x)));
      sum += terms.back();
    }
    for (std::int64_t& t : terms) t = (2 * op.high * t + sum) / (2 * sum);
    return terms;
  }
  Integers of(const ArgMax&, const Inputs& inputs) const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < inputs[0]->size(); ++k)
      if ((*inputs[0])[k] > (*inputs[0])[best]) best = k;
    return {static_cast<std::int64_t>(best)};
  }
  Integers of(const Input&, const Inputs& inputs) const { return *inputs[0]; }
  Integers of(const OfReals auto&, const Inputs&) const {
    throw Error("definition", "operation", name_of(network_.nodes[index_].op), "one of integers");
  }

  const Network& network_;
  const std::vector<Shape>& shapes_;
  const Integers& weight_;
  const Integers& bias_;
  std::size_t index_;
};

}  // namespace

DefinedNetwork::DefinedNetwork(const Model& model)
    : network_(model.network),
      shapes_(infer_shapes(model.network)),
      weights_(network_.nodes.size()),
      biases_(network_.nodes.size()) {
  const std::vector<Parameter> parameters = parameters_of(network_);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Parameter& parameter = parameters[p];
    if (parameter.kind == "divisor") continue;  // of what the integers stand for
    if (parameter.kind == "weight") {
      const std::vector<std::int8_t> weights = weights_of(network_, parameter, model.parameters[p]);
      weights_[parameter.node].assign(weights.begin(), weights.end());
    } else {
      (parameter.kind == "bias" ? biases_ : weights_)[parameter.node] =
          integers_of(parameter, model.parameters[p]);
    }
  }
}

std::vector<Integers> DefinedNetwork::values(const Integers& input,
                                             const Replaced& replaced) const {
  std::vector<Integers> result{input};
  if (replaced) replaced(0, result[0]);
  for (std::size_t i = 1; i < network_.nodes.size(); ++i) {
    DefinedNode::Inputs inputs;
    for (const std::size_t k : network_.nodes[i].inputs) inputs.push_back(&result[k]);
    result.push_back(DefinedNode(network_, shapes_, weights_[i], biases_[i], i).value(inputs));
    if (replaced) replaced(i, result[i]);
  }
  return result;
}

}  // namespace nibble::inline graph
