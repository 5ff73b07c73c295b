// SPDX-License-Identifier: Apache-2.0
// Answers of an integer network.
#include "integer_step/predictor.h"

namespace nibble::inline integer_step {

IntegerPredictor::IntegerPredictor(const Network& network, const std::string& device)
    : tape_(network, {}, Placement(make_backend(device))) {}

void IntegerPredictor::set_weight(std::size_t parameter, std::span<const std::int8_t> mantissas,
                                  int exponent) {
  tape_.parameters()[parameter]->write_mantissas(mantissas, exponent);
}

std::vector<int> IntegerPredictor::calibrate(const InputBatch& examples) {
  answer(examples, ShiftRule::exact);
  return tape_.value_exponents();
}

void IntegerPredictor::freeze(std::span<const int> value_exponents) {
  tape_.freeze(value_exponents);
}

IntegerAnswers IntegerPredictor::answer(const InputBatch& examples, ShiftRule rule) {
  const StepContext step{.rule = rule, .all_images = examples.images};
  return answers_from(tape_.answer_backend(), tape_.forward(step, examples));
}

}  // namespace nibble::inline integer_step
