// SPDX-License-Identifier: Apache-2.0
// The text form of a rule of shift roundings: [LAYER.]TENSOR=ROUNDING.
#include <string>

#include "core/name.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

RoundingChoice& choice_of(std::string_view layer, IntegerRoundings& roundings) {
  if (layer.empty()) return roundings.all;
  for (auto& [name, choice] : roundings.layers) {
    if (name == layer) return choice;
  }
  return roundings.layers.emplace_back(layer, roundings.all).second;
}

}  // namespace

void take_shift_rounding(std::string_view rule, IntegerRoundings& roundings) {
  const std::size_t equals = rule.find('=');
  const std::string_view target = rule.substr(0, equals);
  const std::size_t dot = target.rfind('.');
  const std::string_view layer =
      dot == std::string_view::npos ? std::string_view() : target.substr(0, dot);
  const std::string_view tensor = dot == std::string_view::npos ? target : target.substr(dot + 1);
  if (equals == std::string_view::npos ||
      (tensor != "value" && tensor != "error" && tensor != "gradient")) {
    throw Error("train", "shift rounding", in_quotes(rule),
                "[LAYER.]value|error|gradient=nearest|stochastic|pseudo-stochastic");
  }
  const ShiftRounding rounding = shift_rounding_by_name(std::string(rule.substr(equals + 1)));
  RoundingChoice& choice = choice_of(layer, roundings);
  (tensor == "value"   ? choice.value
   : tensor == "error" ? choice.error
                       : choice.gradient) = rounding;
}

}  // namespace nibble::inline integer_training
