// SPDX-License-Identifier: Apache-2.0
// Answers of an integer network.
#include "integer/predictor.h"

#include <algorithm>

namespace nibble {

IntegerPredictor::IntegerPredictor(const Network& network, const IntegerRoundings& roundings)
    : tape_(network, roundings) {}

void IntegerPredictor::set_weight(std::size_t parameter, std::span<const std::int8_t> mantissas,
                                  int exponent) {
  TrainedTensor& tensor = *tape_.parameters()[parameter];
  std::ranges::copy(mantissas, tensor.mantissas.as<std::int8_t>().begin());
  tensor.exponent = exponent;
  tape_.weights_changed();
}

std::vector<int> IntegerPredictor::calibrate(const BlockTensor& examples) {
  answer(examples, ShiftRule::exact);
  return tape_.value_exponents();
}

void IntegerPredictor::freeze(std::span<const int> value_exponents) {
  tape_.freeze(value_exponents);
}

IntegerAnswers IntegerPredictor::answer(const BlockTensor& examples, ShiftRule rule) {
  const IntegerPass pass{
      .rule = {rule, {}, nullptr, nullptr}, .all_images = examples.images, .pool = &tape_.pool()};
  return answers_from(tape_.forward(pass, examples));
}

}  // namespace nibble
