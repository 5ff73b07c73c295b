// SPDX-License-Identifier: Apache-2.0
// How an integer network does on a data set.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>

#include "epoch_loop/training_data.h"
#include "graph/batch_norm.h"
#include "integer_training/answers.h"
#include "integer_training/integer_batcher.h"
#include "integer_training/integer_evaluator.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kBatch = 256;
constexpr std::int64_t kLargeBatch = 1024;

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

void IntegerEvaluator::use(const std::string& device) {
  if (device == options_.device) return;
  options_.device = device;
  predictor_.reset();
}

IntegerPredictor& IntegerEvaluator::predictor() {
  if (!predictor_) predictor_.emplace(network_, options_.device, options_.communicator);
  return *predictor_;
}

Calibration IntegerEvaluator::calibrate(std::span<const ModelTensor> trained,
                                        ExampleParts examples) {
  for (std::size_t i = 0; i < trained.size(); ++i)
    predictor().set_weight(i, trained[i].tensor, trained[i].exponent);
  if (predictor().runs_ahead()) examples.most = examples.images;
  return predictor().calibrate(examples);
}

// Shifts of each batch are those of 256; answers by frozen shifts do not depend on the batch, and a
// device that runs ahead likes few large ones of one size.
std::int64_t IntegerEvaluator::batch_of(std::int64_t images, ShiftRule rule) {
  if (rule != ShiftRule::frozen || !predictor().runs_ahead()) return kBatch;
  const std::int64_t batches = std::max<std::int64_t>((images + kLargeBatch - 1) / kLargeBatch, 1);
  return (images + batches - 1) / batches;
}

Evaluation IntegerEvaluator::evaluate(const Model& model, const Dataset& data, ShiftRule rule) {
  const Network& network = model.network;
  check_data(network, data);
  const std::vector<int> exponents = value_exponents_of(network);
  std::optional<FrozenAnswers> frozen;
  std::int64_t batch_size = kBatch;
  std::size_t most_ahead = 0;
  const std::int64_t width = infer_shapes(network)[output_of(network)].elements();
  IntegerBatcher batcher(data, input_scale(input_of(network), data, exponents[0]), width);
  // A device that runs ahead has weights, data and kernels there already, and the engine's law.
  if (rule == ShiftRule::frozen && has_batch_norm(network) && has_engine(options_.device) &&
      !predictor().runs_ahead()) {
    frozen.emplace(model, options_.device, kBatch);
  } else {
    set_weights(predictor(), model);
    if (rule == ShiftRule::frozen) {
      predictor().freeze(calibration_of(model));
    } else {
      predictor().thaw();
    }
    batch_size = batch_of(data.size(), rule);
    if (predictor().runs_ahead()) {
      batcher.leave_gathering();
      most_ahead = 1;
    }
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
  std::iota(order.begin(), order.end(), 0);
  AnswerSums sums(network, data);
  Progress progress("eval " + data.name, data.size(), {.style = options_.progress});
  std::deque<ExpectedAnswers> examined;
  const auto take = [&] {
    sums.add(predictor().take_answers(), examined.front().batch());
    examined.pop_front();
  };
  for (std::int64_t begin = 0; begin < data.size(); begin += batch_size) {
    const auto count = static_cast<std::size_t>(std::min(batch_size, data.size() - begin));
    const IntegerBatch batch =
        batcher.load(std::span(order).subspan(static_cast<std::size_t>(begin), count), {}, {});
    if (frozen) {
      sums.add(frozen->answer(batch.input), batch);
    } else {
      predictor().submit(batch.input, rule);
      examined.emplace_back(batch);
      if (examined.size() > most_ahead) take();
    }
    progress.update(begin + static_cast<std::int64_t>(count));
  }
  while (!examined.empty()) take();
  return sums.evaluation();
}

Evaluation evaluate_integers(const Model& model, const Dataset& data, ShiftRule rule,
                             const IntegerEvaluationOptions& options) {
  return IntegerEvaluator(model.network, options).evaluate(model, data, rule);
}

}  // namespace nibble::inline integer_training
