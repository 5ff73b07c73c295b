// SPDX-License-Identifier: Apache-2.0
// Answers of an integer network.
#include "integer_step/predictor.h"

namespace nibble::inline integer_step {

IntegerPredictor::IntegerPredictor(const Network& network, const std::string& device)
    : tape_(network, {}, Placement(make_backend(device))) {}

void IntegerPredictor::set_weight(std::size_t parameter, const Tensor& tensor, int exponent) {
  TrainedTensor& own = *tape_.parameters()[parameter];
  if (own.norm() == NormPart::none) return own.write_mantissas(tensor.as<std::int8_t>(), exponent);
  WeightsState state = own.read();
  const auto numbers = tensor.as<std::int32_t>();
  state.fine.assign(numbers.begin(), numbers.end());
  own.write(state);
}

Calibration IntegerPredictor::calibrate(const InputBatch& examples) {
  answer(examples, ShiftRule::exact);
  return {tape_.value_exponents(), tape_.statistics()};
}

void IntegerPredictor::freeze(std::span<const int> value_exponents) {
  tape_.freeze(value_exponents);
}

IntegerAnswers IntegerPredictor::answer(const InputBatch& examples, ShiftRule rule) {
  const StepContext step{.rule = rule, .all_images = examples.images};
  return answers_from(tape_.answer_backend(), tape_.forward(step, examples));
}

}  // namespace nibble::inline integer_step
