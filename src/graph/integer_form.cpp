// SPDX-License-Identifier: Apache-2.0
// Writes the frozen shifts of integer-trained networks out; docs/integer-training.md is the law.
#include "graph/integer_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "graph/batch_norm.h"
#include "graph/model_parts.h"
#include "graph/node_error.h"
#include "graph/operation_table.h"
#include "laws/block_exponent.h"
#include "laws/integer_laws.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

constexpr std::int64_t kFormRail = 127;

// Where values have no exponents, nobody knows how many of their units 6 is.
bool needs_exponents(const Op& op) {
  return is<Relu6>(op) || is<BatchNorm>(op);
}

bool is_written_out(const Node& node) {
  return is<AveragePool>(node.op) || is<GlobalAveragePool>(node.op) || is<Dropout>(node.op);
}

class FormWriter {
 public:
  explicit FormWriter(Model& model)
      : from_(model),
        shapes_(infer_shapes(model.network)),
        parameters_(parameters_of(model.network)) {
    to_.network.name = model.network.name;
    to_.network.class_names = model.network.class_names;
  }

  Model write() {
    for (std::size_t i = 0; i <= output_of(from_.network); ++i) {
      node_ = &from_.network.nodes[i];
      places_.push_back(write_node(i));
    }
    return std::move(to_);
  }

 private:
  // Index of the node in the new network that has the value.
  std::size_t write_node(std::size_t i) {
    const Node& node = *node_;
    if (is<Dropout>(node.op)) return places_[node.inputs[0]];
    if (is_normalized_product(from_.network, i)) return kInItsNorm;
    if (is<BatchNorm>(node.op)) return write_batch_norm(i);
    if (is_product(node.op)) return write_product(i);
    if (is<Bias>(node.op)) return write_bias(i);
    if (is<Relu6>(node.op)) return write_relu6();
    if (is<AveragePool>(node.op) || is<GlobalAveragePool>(node.op)) return write_mean();
    if (is<Add>(node.op) || is<Concat>(node.op)) return write_meeting();
    Node copy = node;
    for (std::size_t& input : copy.inputs) input = places_[input];
    return add(std::move(copy));
  }

  std::size_t write_product(std::size_t i) {
    Node sums = *node_;
    sums.name += ".sum";
    sums.inputs = {places_[node_->inputs[0]]};
    sums.value = {};
    const int products = exponent_of_input(0) + exponent_of_weight(node_->weight);
    Tensor* bias = tensor_of(i, "bias");
    Tensor& weight = *tensor_of(i, "weight");
    if (bias == nullptr) return round(add(std::move(sums), std::move(weight)), 1, products);
    const SumScale scale = product_scale(products, exponent_of_weight(node_->bias));
    Tensor raised = scaled_bias(*bias, std::int64_t{1} << scale.bias_lift);
    if (scale.product_lift == 0) {
      const std::size_t place = add(std::move(sums), std::move(weight), std::move(raised));
      return round(place, 1, products);
    }
    drop_bias(sums.op);
    const std::size_t product = add(std::move(sums), std::move(weight));
    return round_lifted(product, scale.product_lift, scale.exponent, ".bias", std::move(raised));
  }

  // A norm goes into the product that it reads, or into one that changes nothing but signs.
  std::size_t write_batch_norm(std::size_t i) {
    const std::size_t input = node_->inputs[0];
    const Node& source = from_.network.nodes[input];
    const bool has_product = places_[input] == kInItsNorm;
    Node sums = has_product ? source : Node{.name = node_->name + ".sum", .op = Op{}, .inputs = {}};
    Tensor weight;
    if (has_product) {
      weight = std::move(*tensor_of(input, "weight"));
      sums.inputs = {places_[source.inputs[0]]};
      sums.value = {};
    } else {
      std::tie(sums.op, weight) = product_of_ones(shapes_[i]);
      sums.inputs = {places_[input]};
    }
    const NormTensors tensors{.scale = *tensor_of(i, "scale"),
                              .shift = *tensor_of(i, "shift"),
                              .mean = *tensor_of(i, "mean"),
                              .variance = *tensor_of(i, "variance")};
    if (const std::string fault = fault_of(tensors); !fault.empty())
      fail_node(*node_, "batch norm", fault, "numbers of integer training");
    if (!exponent_of(node_->value))
      fail_node(*node_, "format of its value", to_string(node_->value.format),
                "int8 with a power of two as its scale");
    FrozenNorm norm = frozen_norm(tensors, weight, has_product, *exponent_of(node_->value));
    if (norm.shift < 0) {
      fail_node(*node_, "frozen shift", std::to_string(norm.shift),
                fmt::format("0 to {}", kMaxRescaleShift));
    }
    std::visit([](auto& op) { set_bias(op); }, sums.op);
    const std::size_t place = add(std::move(sums), std::move(weight), std::move(norm.bias));
    return add(
        {.name = node_->name,
         .op =
             Rescale{
                 .shift = norm.shift, .low = -kFormRail, .high = kFormRail, .is_per_channel = true},
         .inputs = {place},
         .value = node_->value},
        std::move(norm.multipliers));
  }

  // R(2^lift·x + b, s) of an x in units of 2^(exponent + lift). Where s is above lift, what lies
  // below the unit of x decides ties alone: R(2·x + 2·⌊b / 2^lift⌋ + (1 if that has a rest), s').
  std::size_t round_lifted(std::size_t x, int lift, int exponent, std::string_view suffix,
                           Tensor bias) {
    if (lift > 1 && shift_to_value(exponent) > lift) {
      for (std::int32_t& b : bias.as<std::int32_t>()) {
        const std::int64_t whole = std::int64_t{b} >> lift;
        b = static_cast<std::int32_t>(2 * whole + (whole << lift != b ? 1 : 0));
      }
      exponent += lift - 1;
      lift = 1;
    }
    const std::int64_t factor = lift < 0 ? 0 : std::int64_t{1} << lift;  // 0: it has no say
    const std::size_t lifted = add_rescale(x, ".lift", factor);
    return round(add_bias(suffix, lifted, std::move(bias)), 1, exponent);
  }

  std::size_t write_bias(std::size_t i) {
    const int exponents[2] = {exponent_of_input(0), exponent_of_weight(node_->bias)};
    const Alignment alignment = align(exponents);
    Tensor scaled = scaled_bias(*tensor_of(i, "bias"), alignment.factor[1]);
    return round_lifted(places_[node_->inputs[0]], exponents[0] - alignment.exponent,
                        alignment.exponent, ".sum", std::move(scaled));
  }

  std::size_t write_relu6() {
    const std::int64_t cut = relu6_cut(exponent_of_input(0));
    if (cut == kFormRail) {  // nothing reaches it
      return add({.name = node_->name, .op = Relu{}, .inputs = {places_[node_->inputs[0]]}});
    }
    return add_rescale_named(node_->name, places_[node_->inputs[0]], 1, 0, 0, cut);
  }

  std::size_t write_mean() {
    const Shape& in = shapes_[node_->inputs[0]];
    SumPool sums{.kernel = {in[0], in[1]}, .stride = {1, 1}};
    if (const auto* pool = std::get_if<AveragePool>(&node_->op)) sums = sums_of(*pool, kMeanBits);
    const std::int64_t factor = sums.mean_bits > 0 ? 1 : mean_factor(sums.kernel.y * sums.kernel.x);
    std::size_t place =
        add({.name = node_->name + ".sum", .op = sums, .inputs = {places_[node_->inputs[0]]}});
    if (is<GlobalAveragePool>(node_->op)) {
      place = add({.name = node_->name + ".flat", .op = Flatten{}, .inputs = {place}});
    }
    return round(place, factor, exponent_of_input(0) - kMeanBits);
  }

  // Add and concat: inputs aligned; of a concat each is rounded, of an add the sum.
  std::size_t write_meeting() {
    std::vector<int> exponents;
    for (std::size_t k = 0; k < node_->inputs.size(); ++k)
      exponents.push_back(exponent_of_input(k));
    const Alignment alignment = align(exponents);
    const bool is_add = is<Add>(node_->op);
    Node meeting = *node_;
    if (is_add) meeting.name += ".sum";
    for (std::size_t k = 0; k < meeting.inputs.size(); ++k) {
      const std::size_t input = places_[node_->inputs[k]];
      const std::string suffix = fmt::format(".{}", k + 1);
      meeting.inputs[k] =
          is_add ? add_rescale(input, suffix, alignment.factor[k])
                 : add_rescale_named(node_->name + suffix, input, alignment.factor[k],
                                     shift_to_value(alignment.exponent), -kFormRail, kFormRail);
    }
    const std::size_t place = add(std::move(meeting));
    return is_add ? round(place, 1, alignment.exponent) : place;
  }

  // The rescale node NAME from sums in units of 2^exponent.
  std::size_t round(std::size_t sums, std::int64_t multiplier, int exponent) {
    return add_rescale_named(node_->name, sums, multiplier, shift_to_value(exponent), -kFormRail,
                             kFormRail);
  }

  int shift_to_value(int exponent) const {
    const int shift = *exponent_of(node_->value) - exponent;
    if (shift < 0 || shift > kMaxRescaleShift) {
      fail_node(*node_, "frozen shift", std::to_string(shift),
                fmt::format("0 to {}", kMaxRescaleShift));
    }
    return shift;
  }

  std::size_t add_rescale(std::size_t input, std::string_view suffix, std::int64_t multiplier) {
    return add_rescale_named(fmt::format("{}{}", node_->name, suffix), input, multiplier, 0,
                             -kMaxInteger, kMaxInteger);
  }

  std::size_t add_rescale_named(const std::string& name, std::size_t input, std::int64_t multiplier,
                                int shift, std::int64_t low, std::int64_t high) {
    if (multiplier > kMaxInteger) {
      fail_node(*node_, "exponents of inputs", "too far apart", "at most 30 apart");
    }
    Node node{
        .name = name, .op = Rescale{.shift = shift, .low = low, .high = high}, .inputs = {input}};
    if (name == node_->name) node.value = node_->value;
    Tensor tensor(DType::i32, {1});
    tensor.as<std::int32_t>()[0] = static_cast<std::int32_t>(multiplier);
    return add(std::move(node), std::move(tensor));
  }

  std::size_t add_bias(std::string_view suffix, std::size_t input, Tensor bias) {
    return add({.name = fmt::format("{}{}", node_->name, suffix), .op = Bias{}, .inputs = {input}},
               std::move(bias));
  }

  template <class... Tensors>
  std::size_t add(Node node, Tensors... tensors) {
    (to_.parameters.push_back(std::move(tensors)), ...);
    to_.network.nodes.push_back(std::move(node));
    return to_.network.nodes.size() - 1;
  }

  static void set_bias(auto&) {}
  static void set_bias(Conv2d& conv) { conv.has_bias = true; }
  static void set_bias(Linear& linear) { linear.has_bias = true; }

  static void drop_bias(Op& op) {
    if (auto* conv = std::get_if<Conv2d>(&op)) conv->has_bias = false;
    if (auto* linear = std::get_if<Linear>(&op)) linear->has_bias = false;
  }

  int exponent_of_input(std::size_t k) const {
    return exponent_or_fail(from_.network.nodes[node_->inputs[k]].value, "input");
  }
  int exponent_of_weight(const Precision& precision) const {
    return exponent_or_fail(precision, "weight");
  }
  int exponent_or_fail(const Precision& precision, std::string_view what) const {
    const std::optional<int> exponent = exponent_of(precision);
    if (!exponent) {
      fail_node(*node_, fmt::format("format of its {}", what), to_string(precision.format),
                "int8 with a power of two as its scale");
    }
    return *exponent;
  }

  Tensor* tensor_of(std::size_t node, std::string_view kind) {
    const std::size_t p = find_parameter(parameters_, node, kind);
    return p == parameters_.size() ? nullptr : &from_.parameters[p];
  }

  Tensor scaled_bias(const Tensor& bias, std::int64_t factor) const {
    Tensor result(DType::i32, bias.shape());
    const auto mantissas = bias.as<std::int8_t>();
    for (std::size_t c = 0; c < mantissas.size(); ++c) {
      const std::int64_t scaled = mantissas[c] * factor;  // 7 + 40 bits
      if (scaled > kMaxInteger || scaled < -kMaxInteger)
        fail_node(*node_, "bias", std::to_string(scaled), "32 bits in the unit of the sums");
      result.as<std::int32_t>()[c] = static_cast<std::int32_t>(scaled);
    }
    return result;
  }

  static constexpr std::size_t kInItsNorm = static_cast<std::size_t>(-1);  // a product's place

  Model& from_;  // its weights move
  std::vector<Shape> shapes_;
  std::vector<Parameter> parameters_;
  Model to_;
  std::vector<std::size_t> places_;  // of the old nodes' values in the new network
  const Node* node_ = nullptr;       // of the old network, being written
};

bool has_frozen_shifts(const Network& network) {
  return std::ranges::any_of(network.nodes, [](const Node& node) {
    return (is_product(node.op) || is<BatchNorm>(node.op)) && exponent_of(node.value).has_value();
  });
}

// Of a float network the first few layers are named; it has to be quantized as a whole.
void refuse_floats(const Model& model) {
  constexpr std::size_t kNamed = 5;
  const std::vector<Parameter> parameters = parameters_of(model.network);
  std::string layers;
  std::size_t count = 0;
  for (std::size_t p = 0; p < std::min(parameters.size(), model.parameters.size()); ++p) {
    if (parameters[p].kind != "weight" || !is_float(model.parameters[p].dtype())) continue;
    if (count++ >= kNamed) continue;
    layers += (layers.empty() ? "" : ", ") + model.network.nodes[parameters[p].node].name;
  }
  if (count == 0) return;
  if (count > kNamed) layers += fmt::format(" and {} more", count - kNamed);
  throw Error("integer network", "layers in floats", layers,
              "none: 'nibble quantize' and 'nibble train --arith int8' make integers",
              ErrorKind::input);
}

void check_ops(const Network& network, bool is_frozen) {
  std::string refused;
  for (const Node& node : network.nodes) {
    const bool has_integer_form = support_of(node.op, Capability::engine).is_there;
    if (has_integer_form && (is_frozen || !needs_exponents(node.op))) continue;
    refused += fmt::format("{}{} ({})", refused.empty() ? "" : ", ", node.name, name_of(node.op));
  }
  if (!refused.empty()) {
    throw Error("integer network", "layers without an integer form", refused, "none",
                ErrorKind::input);
  }
}

}  // namespace

Model integer_form(Model model) {
  refuse_floats(model);
  const bool is_frozen = has_frozen_shifts(model.network);
  check_ops(model.network, is_frozen);
  if (is_frozen) return FormWriter(model).write();
  if (std::ranges::any_of(model.network.nodes, is_written_out)) {
    return with_written_means(std::move(model));
  }
  model.network.nodes.resize(output_of(model.network) + 1);
  return model;
}

}  // namespace nibble::inline graph
