// SPDX-License-Identifier: Apache-2.0
// Writes means out.
#include "graph/integer_form.h"

#include "graph/model_writer.h"
#include "graph/parameters.h"
#include "laws/integer_laws.h"

namespace nibble::inline graph {
namespace {

constexpr int kBitsAlike = 24;    // of the factor of windows that are all alike
constexpr int kBitsByPlace = 22;  // times bytes they stay within 32 bits

class MeanWriter {
 public:
  explicit MeanWriter(Model& model)
      : from_(model),
        shapes_(infer_shapes(model.network)),
        parameters_(parameters_of(model.network)),
        to_(model.network) {}

  Model write() {
    for (std::size_t i = 0; i <= output_of(from_.network); ++i) places_.push_back(write_node(i));
    return to_.finished();
  }

 private:
  std::size_t write_node(std::size_t i) {
    const Node& node = from_.network.nodes[i];
    if (is<Dropout>(node.op)) return places_[node.inputs[0]];
    if (const auto* pool = std::get_if<AveragePool>(&node.op)) {
      return write_mean(node, sums_of(*pool, kBitsByPlace));
    }
    if (is<GlobalAveragePool>(node.op)) {
      const Shape& in = shapes_[node.inputs[0]];
      return write_mean(node, {.kernel = {in[0], in[1]}, .stride = {1, 1}});
    }
    std::vector<Tensor> tensors;
    for (std::size_t p = first_parameter(parameters_, i);
         p < parameters_.size() && parameters_[p].node == i; ++p) {
      tensors.push_back(std::move(from_.parameters[p]));
    }
    Node copy = node;
    for (std::size_t& input : copy.inputs) input = places_[input];
    return to_.add(std::move(copy), std::move(tensors));
  }

  std::size_t write_mean(const Node& node, const SumPool& sums) {
    std::size_t place =
        to_.add({.name = node.name + ".sum", .op = sums, .inputs = {places_[node.inputs[0]]}});
    if (is<GlobalAveragePool>(node.op)) {
      place = to_.add({.name = node.name + ".flat", .op = Flatten{}, .inputs = {place}});
    }
    const bool is_by_place = sums.mean_bits > 0;
    std::vector<Tensor> multiplier;
    multiplier.emplace_back(DType::i32, Shape{1});
    multiplier[0].as<std::int32_t>()[0] = static_cast<std::int32_t>(
        is_by_place ? 1 : mean_factor(sums.kernel.y * sums.kernel.x, kBitsAlike));
    return to_.add({.name = node.name,
                    .op = Rescale{.shift = is_by_place ? kBitsByPlace : kBitsAlike,
                                  .low = -kMaxInteger,
                                  .high = kMaxInteger},
                    .inputs = {place},
                    .value = node.value},
                   std::move(multiplier));
  }

  Model& from_;  // its weights move
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  ModelWriter to_;
  std::vector<std::size_t> places_;  // of the old nodes' values in the new network
};

}  // namespace

SumPool sums_of(const AveragePool& pool, std::int64_t mean_bits) {
  const bool is_by_place = pool.padding != Extent2{0, 0} && !pool.counts_padding;
  return {pool.kernel, pool.stride, pool.padding, is_by_place ? mean_bits : 0};
}

Model with_written_means(Model model) {
  return MeanWriter(model).write();
}

}  // namespace nibble::inline graph
