// SPDX-License-Identifier: Apache-2.0
// How a trained model does on a data set.
#include "nibble/float_training/train.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "epoch_loop/training_data.h"
#include "float_training/batcher.h"
#include "float_training/tape.h"

namespace nibble::inline float_training {
namespace {

constexpr std::int64_t kBatch = 256;  // fixed: slices, and with them sums, follow from it

}  // namespace

Evaluation evaluate(const Model& model, const Dataset& data, const EvaluateOptions& options) {
  const Network& network = model.network;
  check_data(network, data);
  const PrecisionPolicy own{.name = network.name, .rules = own_rules(network), .loss_scale = {}};
  const PrecisionPolicy& policy = options.policy != nullptr ? *options.policy : own;
  Rounder rounder(network, 0);
  BufferPool pool;
  Tape tape(network, policy, rounder);
  tape.set_parameters(model.parameters);

  const Op& last = network.nodes.back().op;
  const Op usual = data.has_targets() ? Op(SquaredError{}) : Op(SoftmaxCrossEntropy{});
  const Op& loss = is_loss(last) ? last : usual;
  Evaluation result;
  const std::int64_t width = infer_shapes(network)[output_of(network)].elements();
  if (!data.has_targets()) result.classes.emplace(width);
  Batcher batcher(data, input_of(network));
  std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
  std::iota(order.begin(), order.end(), 0);
  Progress progress("eval " + data.name, data.size(), {.style = options.progress});
  double sum = 0;
  for (std::int64_t begin = 0; begin < data.size(); begin += kBatch) {
    const std::int64_t count = std::min(kBatch, data.size() - begin);
    const auto indices =
        std::span(order).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    batcher.load(indices, {}, {});
    const Pass pass{.slices = cut_batch(count, kBatch, false),
                    .is_training = false,
                    .random = {},
                    .pool = &pool};
    const ConstTensorView answers = tape.forward(pass, batcher.images());
    std::vector<double> losses(indices.size());
    image_losses(loss, answers, batcher.targets(), losses);
    if (result.classes) result.classes->add(answers.as<float>(), batcher.targets().labels, losses);
    for (const double each : losses) sum += each;
    result.images += count;
    progress.update(result.images);
  }
  result.loss = result.images > 0 ? sum / static_cast<double>(result.images) : 0.0;
  return result;
}

}  // namespace nibble::inline float_training
