// SPDX-License-Identifier: Apache-2.0
// What tables say of integer answers.
#include "integer_run/answers.h"

#include <cmath>

namespace nibble {

std::vector<float> values_of(const IntegerAnswers& answers) {
  std::vector<float> values;
  for (const std::int8_t mantissa : answers.mantissas)
    values.push_back(std::ldexp(static_cast<float>(mantissa), answers.exponent));
  return values;
}

AnswerSums::AnswerSums(const Dataset& data, std::int64_t width) {
  if (!data.has_targets()) evaluation_.classes.emplace(width);
}

void AnswerSums::add(const IntegerAnswers& answers, const IntegerBatch& batch) {
  const std::vector<float> values = values_of(answers);
  evaluation_.images += batch.images.images;
  if (evaluation_.classes) {
    evaluation_.classes->add(values, batch.labels);
    loss_sum_ = evaluation_.classes->mean_loss() * static_cast<double>(evaluation_.images);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(values[i]) -
                              std::ldexp(static_cast<double>(batch.targets[i]), kTargetExponent);
    loss_sum_ += difference * difference / 2;
  }
}

std::int64_t AnswerSums::correct() const {
  return evaluation_.classes ? evaluation_.classes->correct() : 0;
}

Evaluation AnswerSums::evaluation() const {
  Evaluation result = evaluation_;
  if (result.images > 0) result.loss = loss_sum_ / static_cast<double>(result.images);
  return result;
}

}  // namespace nibble
