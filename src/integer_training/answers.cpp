// SPDX-License-Identifier: Apache-2.0
// What tables say of integer answers.
#include "integer_training/answers.h"

#include <cmath>

namespace nibble::inline integer_training {

std::vector<float> values_of(const IntegerAnswers& answers) {
  std::vector<float> values;
  for (const std::int8_t mantissa : answers.mantissas)
    values.push_back(std::ldexp(static_cast<float>(mantissa), answers.exponent));
  return values;
}

AnswerSums::AnswerSums(const Network& network, const Dataset& data)
    : is_squared_(is<SquaredError>(network.nodes.back().op)) {
  if (!data.has_targets())
    evaluation_.classes.emplace(infer_shapes(network)[output_of(network)].elements());
}

void AnswerSums::add(const IntegerAnswers& answers, const IntegerBatch& batch) {
  const std::vector<float> values = values_of(answers);
  const auto width = static_cast<std::size_t>(answers.width);
  evaluation_.images += batch.input.images;
  std::vector<double> losses;
  for (std::size_t begin = 0; begin < values.size(); begin += width) {
    const auto row = std::span(values).subspan(begin, width);
    if (!is_squared_) {
      losses.push_back(cross_entropy(row, batch.labels[begin / width]));
      continue;
    }
    double loss = 0;
    for (std::size_t k = 0; k < width; ++k) {
      const double target =
          std::ldexp(static_cast<double>(batch.targets[begin + k]), kTargetExponent);
      const double difference = static_cast<double>(row[k]) - target;
      loss += difference * difference / 2;
    }
    losses.push_back(loss);
  }
  if (evaluation_.classes) evaluation_.classes->add(values, batch.labels, losses);
  for (const double loss : losses) loss_sum_ += loss;
}

std::int64_t AnswerSums::correct() const {
  return evaluation_.classes ? evaluation_.classes->correct() : 0;
}

Evaluation AnswerSums::evaluation() const {
  Evaluation result = evaluation_;
  if (result.images > 0) result.loss = loss_sum_ / static_cast<double>(result.images);
  return result;
}

}  // namespace nibble::inline integer_training
