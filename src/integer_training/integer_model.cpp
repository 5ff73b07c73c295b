// SPDX-License-Identifier: Apache-2.0
// An integer network as a model file keeps it.
#include "integer_training/integer_model.h"

#include <algorithm>
#include <utility>

#include "graph/batch_norm.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_training {

std::vector<int> value_exponents_of(const Network& network) {
  std::vector<int> exponents;
  for (std::size_t i = 0; i <= output_of(network); ++i) {
    if (is_normalized_product(network, i)) {
      exponents.push_back(0);
      continue;
    }
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

ModelTensor model_tensor(const TrainedTensor& tensor, const WeightsState& state) {
  if (tensor.norm() == NormPart::none) return {copy_of(state.mantissas.view()), state.exponent};
  ModelTensor result{Tensor(DType::i32, tensor.shape())};
  std::ranges::copy(state.fine, result.tensor.as<std::int32_t>().begin());
  return result;
}

Model integer_model(const Network& network, std::vector<ModelTensor> trained,
                    const Calibration& calibration) {
  Model model{network, {}};
  for (std::size_t i = 0; i < calibration.exponents.size(); ++i) {
    if (!is_normalized_product(network, i))
      model.network.nodes[i].value = int8_of(calibration.exponents[i]);
  }
  auto next = trained.begin();
  auto norm = calibration.norms.begin();
  for (const Parameter& parameter : parameters_of(network)) {
    Node& node = model.network.nodes[parameter.node];
    if (parameter.is_trained) {
      if (!is<BatchNorm>(node.op))
        (parameter.kind == "bias" ? node.bias : node.weight) = int8_of(next->exponent);
      model.parameters.push_back(std::move(next++->tensor));
      continue;
    }
    const bool is_mean = parameter.kind == "mean";
    Tensor& tensor = model.parameters.emplace_back(DType::i64, parameter.shape);
    std::ranges::copy(is_mean ? norm->means : norm->variances, tensor.as<std::int64_t>().begin());
    if (!is_mean) ++norm;  // the variance comes last
  }
  return model;
}

Calibration calibration_of(const Model& model) {
  Calibration calibration{.exponents = value_exponents_of(model.network), .norms = {}};
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_trained) continue;
    check_dtype(model.parameters[i].dtype(), DType::i64);
    const auto numbers = model.parameters[i].as<std::int64_t>();
    const bool is_mean = parameters[i].kind == "mean";
    if (is_mean) calibration.norms.emplace_back();
    NormalizationRecord& norm = calibration.norms.back();
    (is_mean ? norm.means : norm.variances).assign(numbers.begin(), numbers.end());
  }
  return calibration;
}

void set_weights(IntegerPredictor& predictor, const Model& model) {
  const std::vector<Parameter> parameters = parameters_of(model.network);
  std::size_t next = 0;  // of those that are trained
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_trained) continue;
    const Node& node = model.network.nodes[parameters[i].node];
    if (is<BatchNorm>(node.op)) {
      check_dtype(model.parameters[i].dtype(), DType::i32);
      predictor.set_weight(next++, model.parameters[i], 0);
      continue;
    }
    const Precision& precision = parameters[i].kind == "bias" ? node.bias : node.weight;
    const std::optional<int> exponent = exponent_of(precision);
    if (!exponent) {
      throw Error("integers", "format of " + parameters[i].name, to_string(precision.format),
                  "int8 with a power of two as its scale");
    }
    check_dtype(model.parameters[i].dtype(), DType::i8);
    predictor.set_weight(next++, model.parameters[i], *exponent);
  }
}

}  // namespace nibble::inline integer_training
