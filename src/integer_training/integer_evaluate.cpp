// SPDX-License-Identifier: Apache-2.0
// How an integer network does on a data set.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "epoch_loop/check_data.h"
#include "graph/normalized_product.h"
#include "integer_training/answers.h"
#include "integer_training/frozen_answers.h"
#include "integer_training/integer_batcher.h"
#include "integer_training/integer_model.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kBatch = 256;

}  // namespace

bool is_integer_model(const Model& model) {
  if (!exponent_of(model.network.nodes[0].value)) return false;
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_norm = is<BatchNorm>(model.network.nodes[parameters[i].node].op);
    const DType wanted =
        !is_norm ? DType::i8 : (parameters[i].is_trained ? DType::i32 : DType::i64);
    if (model.parameters[i].dtype() != wanted) return false;
  }
  return true;
}

Evaluation evaluate_integers(const Model& model, const Dataset& data, ShiftRule rule,
                             const IntegerEvaluationOptions& options) {
  const Network& network = model.network;
  check_data(network, data);
  const std::vector<int> exponents = value_exponents_of(network);
  std::optional<IntegerPredictor> predictor;
  std::optional<FrozenAnswers> frozen;
  if (rule == ShiftRule::frozen && has_batch_norm(network) && has_engine(options.device)) {
    frozen.emplace(model, options.device, kBatch);
  } else {
    predictor.emplace(predictor_of(model, options.device, options.communicator));
    if (rule == ShiftRule::frozen) predictor->freeze(calibration_of(model));
  }
  const std::int64_t width = infer_shapes(network)[output_of(network)].elements();
  IntegerBatcher batcher(data, input_scale(input_of(network), data, exponents[0]), width);
  std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
  std::iota(order.begin(), order.end(), 0);
  AnswerSums sums(network, data);
  Progress progress("eval " + data.name, data.size(), {.style = options.progress});
  for (std::int64_t begin = 0; begin < data.size(); begin += kBatch) {
    const auto count = static_cast<std::size_t>(std::min(kBatch, data.size() - begin));
    const IntegerBatch batch =
        batcher.load(std::span(order).subspan(static_cast<std::size_t>(begin), count), {}, {});
    sums.add(frozen ? frozen->answer(batch.input) : predictor->answer(batch.input, rule), batch);
    progress.update(begin + static_cast<std::int64_t>(count));
  }
  return sums.evaluation();
}

}  // namespace nibble::inline integer_training
