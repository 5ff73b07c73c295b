// SPDX-License-Identifier: Apache-2.0
// How an integer network does on a data set.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "epoch_loop/check_data.h"
#include "integer_training/answers.h"
#include "integer_training/integer_batcher.h"
#include "integer_training/integer_model.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kBatch = 256;

}  // namespace

bool is_integer_model(const Model& model) {
  return exponent_of(model.network.nodes[0].value).has_value() &&
         std::ranges::all_of(model.parameters,
                             [](const Tensor& each) { return each.dtype() == DType::i8; });
}

Evaluation evaluate_integers(const Model& model, const Dataset& data, ShiftRule rule,
                             const IntegerEvaluationOptions& options) {
  const Network& network = model.network;
  check_data(network, data);
  IntegerPredictor predictor = predictor_of(model, options.device, options.communicator);
  const std::vector<int> exponents = value_exponents_of(network);
  predictor.freeze(exponents);
  IntegerBatcher batcher(data, input_scale(input_of(network), data, exponents[0]),
                         predictor.answer_picture().channels);
  std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
  std::iota(order.begin(), order.end(), 0);
  AnswerSums sums(network, data);
  Progress progress("eval " + data.name, data.size(), {.style = options.progress});
  for (std::int64_t begin = 0; begin < data.size(); begin += kBatch) {
    const auto count = static_cast<std::size_t>(std::min(kBatch, data.size() - begin));
    const IntegerBatch batch =
        batcher.load(std::span(order).subspan(static_cast<std::size_t>(begin), count), {}, {});
    sums.add(predictor.answer(batch.input, rule), batch);
    progress.update(begin + static_cast<std::int64_t>(count));
  }
  return sums.evaluation();
}

}  // namespace nibble::inline integer_training
