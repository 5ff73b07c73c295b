// SPDX-License-Identifier: Apache-2.0
// Networks of one operation. One that has none does not compile.
#include "tests/operations/operation_cases.h"

#include <utility>

#include "graph/integer_form.h"
#include "graph/test_network_maker.h"

namespace nibble {
namespace {

Node node_of(std::string name, Op op, std::vector<std::size_t> inputs) {
  return {.name = std::move(name), .op = std::move(op), .inputs = std::move(inputs)};
}

OperationCase alone(const Shape& input, const Op& op) {
  return {op, input, {node_of("it", op, {0})}};
}
// Behind a relu: where it is left out, something is left.
OperationCase behind_relu(const Shape& input, const Op& op) {
  return {op, input, {node_of("other", Relu{}, {0}), node_of("it", op, {1})}};
}
// Of what enters and its relu.
OperationCase meeting(const Shape& input, const Op& op) {
  return {op, input, {node_of("other", Relu{}, {0}), node_of("it", op, {0, 1})}};
}

OperationCase case_of(const Input& op) {
  return {op, {3, 4, 2}, {node_of("other", Relu{}, {0})}};
}
OperationCase case_of(const Conv2d&) {
  return alone({6, 5, 4}, Conv2d{.channels = 6,
                                 .kernel = {3, 2},
                                 .stride = {2, 1},
                                 .padding = {1, 0},
                                 .groups = 2,
                                 .has_bias = true});
}
OperationCase case_of(const Linear&) {
  return alone({12}, Linear{.features = 7, .has_bias = true});
}
OperationCase case_of(const Bias& op) {
  return alone({4, 3, 5}, op);
}
OperationCase case_of(const Relu& op) {
  return alone({4, 3, 5}, op);
}
OperationCase case_of(const Relu6& op) {
  return alone({4, 3, 5}, op);
}
OperationCase case_of(const MaxPool&) {
  return alone({7, 6, 3}, MaxPool{{3, 2}, {2, 2}, {1, 0}});
}
// Windows of 1, 2 and 4 numbers: their means are exact.
OperationCase case_of(const AveragePool&) {
  return alone({6, 6, 3}, AveragePool{{2, 2}, {2, 2}, {1, 1}, false});
}
OperationCase case_of(const GlobalAveragePool& op) {
  return alone({4, 4, 3}, op);
}
OperationCase case_of(const BatchNorm& op) {
  return alone({4, 3, 3}, op);
}
OperationCase case_of(const Add& op) {
  return meeting({4, 3, 5}, op);
}
OperationCase case_of(const Concat& op) {
  return meeting({4, 3, 5}, op);
}
OperationCase case_of(const Slice&) {
  return alone({6, 5, 4}, Slice{{1, 0, 1}, {0, 4, 3}, {2, 1, 1}});
}
OperationCase case_of(const Pad&) {
  return alone({3, 4, 2}, Pad{{1, 0, 1}, {0, 2, 0}});
}
// ONNX has another order: a product has to follow.
OperationCase case_of(const Flatten& op) {
  return {op, {3, 2, 4}, {node_of("it", op, {0}), node_of("other", Linear{.features = 6}, {1})}};
}
OperationCase case_of(const FakeQuantize&) {
  return alone({4, 3, 5}, FakeQuantize{.low = -16, .high = 15});
}
OperationCase case_of(const Dropout& op) {
  return behind_relu({4, 3, 5}, op);
}
OperationCase case_of(const SoftmaxCrossEntropy& op) {
  return behind_relu({kClasses}, op);
}
OperationCase case_of(const SquaredError& op) {
  return behind_relu({kClasses}, op);
}
OperationCase case_of(const Rescale&) {
  return alone({4, 3, 5}, Rescale{.shift = 5, .low = -60, .high = 50});
}
OperationCase case_of(const SumPool&) {
  return alone({6, 6, 3}, SumPool{{2, 2}, {2, 2}, {1, 1}});
}
OperationCase case_of(const Table& op) {
  return alone({4, 3, 5}, op);
}
OperationCase case_of(const SoftmaxTable&) {
  return alone({9}, SoftmaxTable{.high = 200});
}
OperationCase case_of(const ArgMax& op) {
  return behind_relu({9}, op);
}

template <std::size_t... kIndices>
std::vector<OperationCase> all_cases(std::index_sequence<kIndices...>) {
  return {case_of(std::variant_alternative_t<kIndices, Op>())...};
}

void append(Network& network, const std::vector<Node>& nodes) {
  const std::size_t entry = network.nodes.size() - 1;
  for (Node node : nodes) {
    for (std::size_t& input : node.inputs) input += entry;
    network.nodes.push_back(std::move(node));
  }
}
void append(Network& network, std::string name, Op op) {
  append(network, {node_of(std::move(name), std::move(op), {0})});
}

Network network_from(const Shape& input) {
  Network network{.name = "case", .nodes = {}, .class_names = {}};
  network.nodes.push_back(node_of("input", Input{.shape = input, .mean = {}, .deviation = {}}, {}));
  return network;
}

// As the trainer writes it: a product of frozen shift before relu6, of values in units of 1/8.
Model frozen_model(const OperationCase& each) {
  Network network = network_from(each.input);
  network.nodes[0].value = int8_of(-4);
  append(network, "before", Conv2d{.channels = each.input[2], .kernel = {1, 1}});
  network.nodes[1].weight = int8_of(-5);
  network.nodes[1].value = int8_of(-3);
  append(network, each.nodes);
  network.nodes.back().value = int8_of(-3);
  Dice dice(3);
  Model model{.network = std::move(network), .parameters = {}};
  const Shape weight{each.input[2], 1, 1, each.input[2]};
  model.parameters.push_back(tensor_of<std::int8_t>(weight, dice.many(weight.elements(), -60, 60)));
  return model;
}

// A norm of such a product, whose every factor is a power of two: nothing but the last rounding is
// inexact. Deviations are 1024, 2048 and 4096 units of the sums, γ is -1/2, 1/2 and 2, β 0, 1 and
// -3, so that nothing reaches ±127, where ONNX has -128.
Model frozen_norm_model(const OperationCase& each) {
  Model model = frozen_model(each);
  model.network.nodes[1].value = {};
  Node& norm = model.network.nodes.back();
  norm.op = BatchNorm{};
  constexpr std::int64_t kUnit = 1 << 15;
  const Shape channels{3};
  model.parameters.push_back(tensor_of<std::int32_t>(channels, Integers{-32768, 32768, 131072}));
  model.parameters.push_back(tensor_of<std::int32_t>(channels, Integers{0, 65536, -196608}));
  model.parameters.push_back(tensor_of<std::int64_t>(channels, Integers{5 * kUnit, -7 * kUnit, 0}));
  model.parameters.push_back(tensor_of<std::int64_t>(
      channels, Integers{kUnit * kUnit << 20, kUnit * kUnit << 22, kUnit * kUnit << 24}));
  return model;
}

constexpr std::int64_t kMultiplier = 16;  // of the rescale: a factor of one half

Tensor integers_for(const Parameter& parameter, Dice& dice) {
  const std::int64_t count = parameter.shape.elements();
  if (parameter.kind == "weight")
    return tensor_of<std::int8_t>(parameter.shape, dice.many(count, -127, 127));
  if (parameter.kind == "multiplier")
    return tensor_of<std::int32_t>(parameter.shape, Integers{kMultiplier});
  if (parameter.kind == "table")
    return tensor_of<std::int32_t>(parameter.shape, dice.many(count, 1, 1000));
  return tensor_of<std::int32_t>(parameter.shape, dice.many(count, -50, 50));
}

}  // namespace

std::vector<OperationCase> operation_cases() {
  return all_cases(std::make_index_sequence<std::variant_size_v<Op>>());
}

Network plain_network(const OperationCase& each) {
  Network network = network_from(each.input);
  append(network, each.nodes);
  return network;
}

Network network_behind_product(const OperationCase& each) {
  const bool is_picture = each.input.rank() == 3;
  Network network = network_from(is_picture ? each.input : Shape{each.input[0], 1, 1});
  if (is_picture) {
    append(network, "before", Conv2d{.channels = each.input[2], .kernel = {1, 1}});
  } else {
    append(network, "flat", Flatten{});
    append(network, "before", Linear{.features = each.input[0]});
  }
  append(network, each.nodes);
  return network;
}

Network trained_network(const OperationCase& each) {
  Network network = network_behind_product(each);
  if (is_loss(network.nodes.back().op)) return network;
  append(network, "flat_end", Flatten{});
  append(network, "last", Linear{.features = kClasses});
  append(network, "loss", SoftmaxCrossEntropy{});
  return network;
}

Model with_floats(const Network& network) {
  Dice dice(1);
  Model model{.network = network, .parameters = {}};
  for (const Parameter& parameter : parameters_of(network)) {
    Tensor tensor(DType::f32, parameter.shape);
    const bool is_near_one = parameter.kind == "variance" || parameter.kind == "scale";
    for (float& x : tensor.as<float>()) {
      x = static_cast<float>(dice.from(-1000, 1000)) / 2000.0F + (is_near_one ? 1.0F : 0.0F);
      if (parameter.kind == "step") x = kFloatStep;
    }
    model.parameters.push_back(std::move(tensor));
  }
  return model;
}

Model integer_model(const OperationCase& each) {
  if (is<Relu6>(each.op)) return frozen_model(each);
  if (is<BatchNorm>(each.op)) return frozen_norm_model(each);
  Model model{.network = plain_network(each), .parameters = {}};
  for (Node& node : model.network.nodes) {
    const bool is_rounded = is<Input>(node.op) || is<Rescale>(node.op) ||
                            is<AveragePool>(node.op) || is<GlobalAveragePool>(node.op);
    if (is_rounded) node.value = integers_format("int8");
    if (is<Rescale>(node.op)) {  // the real numbers stay
      node.value.format.scaling.kind = ScaleKind::given;
      node.value.format.scaling.scale = 32.0F / kMultiplier;
    }
  }
  Dice dice(2);
  for (const Parameter& parameter : parameters_of(model.network))
    model.parameters.push_back(integers_for(parameter, dice));
  return model;
}

double unit_of(const Node& node) {
  const Scaling& scaling = node.value.format.scaling;
  return scaling.kind == ScaleKind::given ? static_cast<double>(scaling.scale) : 1;
}

}  // namespace nibble
