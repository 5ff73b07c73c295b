// SPDX-License-Identifier: Apache-2.0
// An integer network as a model file keeps it.
#include "integer_training/integer_model.h"

#include <utility>

#include "nibble/core/error.h"

namespace nibble::inline integer_training {

std::vector<int> value_exponents_of(const Network& network) {
  std::vector<int> exponents;
  for (std::size_t i = 0; i <= output_of(network); ++i) {
    const std::optional<int> exponent = exponent_of(network.nodes[i].value);
    if (!exponent) {
      throw Error("integers", "format of layer " + network.nodes[i].name,
                  to_string(network.nodes[i].value.format),
                  "int8 with a power of two as its scale");
    }
    exponents.push_back(*exponent);
  }
  return exponents;
}

Model integer_model(const Network& network, std::vector<Tensor> weights,
                    std::span<const int> weight_exponents, std::span<const int> value_exponents) {
  Model model{network, std::move(weights)};
  const std::vector<Parameter> parameters = parameters_of(network);
  for (std::size_t i = 0; i < value_exponents.size(); ++i)
    model.network.nodes[i].value = int8_of(value_exponents[i]);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Node& node = model.network.nodes[parameters[i].node];
    (parameters[i].kind == "bias" ? node.bias : node.weight) = int8_of(weight_exponents[i]);
  }
  return model;
}

IntegerPredictor predictor_of(const Model& model, const std::string& device,
                              Communicator* cluster) {
  IntegerPredictor predictor(model.network, device, cluster);
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Node& node = model.network.nodes[parameters[i].node];
    const Precision& precision = parameters[i].kind == "bias" ? node.bias : node.weight;
    const std::optional<int> exponent = exponent_of(precision);
    if (!exponent) {
      throw Error("integers", "format of " + parameters[i].name, to_string(precision.format),
                  "int8 with a power of two as its scale");
    }
    check_dtype(model.parameters[i].dtype(), DType::i8);
    predictor.set_weight(i, model.parameters[i].as<std::int8_t>(), *exponent);
  }
  return predictor;
}

}  // namespace nibble::inline integer_training
