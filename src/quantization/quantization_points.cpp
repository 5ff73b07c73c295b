// SPDX-License-Identifier: Apache-2.0
// Follows sums until they must be rounded.
#include "quantization/quantization_points.h"
#include "graph/model_parts.h"

#include <algorithm>

namespace nibble::inline quantization {
namespace {

bool makes_sums(const Op& op) {
  return is_product(op) || is<Input>(op) || is<Bias>(op) || is<Add>(op) || is<AveragePool>(op) ||
         is<GlobalAveragePool>(op) || is<Concat>(op) || is<BatchNorm>(op);
}

bool is_epilogue(const Op& op) {
  return is<Bias>(op) || is<Relu>(op) || is<Relu6>(op);
}

class PointFinder {
 public:
  PointFinder(const Network& network, IntegerForm form)
      : network_(network),
        form_(form),
        readers_(readers_of(network)),
        output_(output_of(network)) {}

  std::vector<bool> find() {
    std::vector<bool> points;
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      const Node& node = network_.nodes[i];
      const bool has_sums = i <= output_ && (makes_sums(node.op) || is_sum_[node.inputs[0]]);
      points.push_back(has_sums && (i == output_ || !can_wait(i)));
      is_sum_.push_back(has_sums && !points.back());
    }
    return points;
  }

 private:
  bool can_wait(std::size_t i) const {
    const Op& op = network_.nodes[i].op;
    if (readers_[i].size() != 1) return false;
    const Node& reader = network_.nodes[readers_[i][0]];
    if (is<Input>(op)) return is<BatchNorm>(reader.op);  // integer features
    if (is_epilogue(reader.op)) return true;
    if (is<Concat>(reader.op)) return is_product(op) || is<Bias>(op) || is<Relu>(op);
    return is<Add>(reader.op) && is_sum_that_waits(i, reader);
  }

  // Of operands that are sums of products read by nobody else the last one, which need not be kept;
  // in NVIDIA's form the first that the add names, whose unit is that of the sum.
  bool is_sum_that_waits(std::size_t i, const Node& add) const {
    const auto is_plain_sum = [&](std::size_t k) {
      const Op& op = network_.nodes[k].op;
      return (is_product(op) || is<Bias>(op)) && readers_[k].size() == 1;
    };
    if (!is_plain_sum(i)) return false;
    if (form_ == IntegerForm::nvidia) return *std::ranges::find_if(add.inputs, is_plain_sum) == i;
    return std::ranges::none_of(add.inputs,
                                [&](std::size_t k) { return k > i && is_plain_sum(k); });
  }

  const Network& network_;
  IntegerForm form_;
  std::vector<std::vector<std::size_t>> readers_;
  std::size_t output_;
  std::vector<bool> is_sum_;
};

}  // namespace

std::vector<bool> quantization_points(const Network& network, IntegerForm form) {
  return PointFinder(network, form).find();
}

std::size_t product_of(const Network& network, std::size_t point) {
  std::size_t i = point;
  while (is_epilogue(network.nodes[i].op)) i = network.nodes[i].inputs[0];
  return is_product(network.nodes[i].op) ? i : point;
}

}  // namespace nibble::inline quantization
