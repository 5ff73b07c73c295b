// SPDX-License-Identifier: Apache-2.0
// A network in integer training.
#include "integer/session.h"

#include <bit>

namespace nibble {
namespace {

constexpr std::int64_t kMostClasses = 4096;  // the sums of the loss then fit 64 bits

void check_loss(const Node& node) {
  const auto* loss = std::get_if<SoftmaxCrossEntropy>(&node.op);
  if (loss != nullptr && std::bit_cast<std::uint32_t>(loss->smoothing) != 0)
    refuse_layer(node, "smoothing", "none: it has no integer form");
  if (!is_loss(node.op)) refuse_layer(node, name_of(node.op), "a loss at the end");
}

// The end of a residual branch.
bool only_adds_read(const Network& network, std::size_t node) {
  bool is_read = false;
  for (const Node& reader : network.nodes) {
    if (std::find(reader.inputs.begin(), reader.inputs.end(), node) == reader.inputs.end())
      continue;
    if (!is<Add>(reader.op)) return false;
    is_read = true;
  }
  return is_read;
}

}  // namespace

IntegerAnswers answers_from(const BlockTensor& tensor) {
  IntegerAnswers answers{{}, tensor.exponent, tensor.picture.channels};
  for (std::int64_t image = 0; image < tensor.images; ++image) {
    const auto row = answers_of(tensor, image);
    answers.mantissas.insert(answers.mantissas.end(), row.begin(), row.end());
  }
  return answers;
}

IntegerSession::IntegerSession(const Network& network, const IntegerOptions& options,
                               Communicator* cluster)
    : network_(network),
      options_(options),
      cluster_(cluster),
      tape_(network, options.roundings),
      loss_point_("loss", options.roundings.all.error, kIntegerLossStream) {
  check_loss(network.nodes.back());
  if (tape_.answer_picture().pixels() != 1)
    refuse_layer(network.nodes[output_of(network)], "a picture", "an answer of one pixel");
  if (tape_.answer_picture().channels > kMostClasses)
    refuse_layer(network.nodes[output_of(network)], "more answers", "at most 4096");
  const std::vector<Parameter> described = parameters_of(network);
  for (std::size_t i = 0; i < tape_.parameters().size(); ++i) {
    TrainedTensor& parameter = *tape_.parameters()[i];
    if (!parameter.is_bias && only_adds_read(network, described[i].node))
      parameter.exponent -= options.residual_bits;
    const std::uint32_t stream = kIntegerInitialStreams + static_cast<std::uint32_t>(i);
    if (!parameter.is_bias) fill_uniform(parameter, {options.seed, stream, 0});
    prepare(parameter, options.update);
  }
}

IntegerAnswers IntegerSession::step(const IntegerBatch& batch, int mu, int bias_mu) {
  const RandomKey random{options_.seed, kIntegerLossStream, static_cast<std::uint32_t>(steps_)};
  IntegerPass pass{.rule = {options_.rule, random, cluster_, &tape_.pool()},
                   .is_training = true,
                   .update = options_.update,
                   .first_image = batch.first_image,
                   .all_images = batch.all_images,
                   .pool = &tape_.pool()};
  pass.update.mu = mu;
  pass.update.bias_mu = bias_mu;
  const BlockTensor answers = tape_.forward(pass, batch.images);
  IntegerAnswers result = answers_from(answers);

  BlockTensor error = answers;
  const Buffer memory = tape_.pool().take<std::int8_t>(error.bytes());
  error.data = memory.as<std::int8_t>();
  std::fill_n(error.data, error.bytes(), std::int8_t{0});
  if (is<SquaredError>(network_.nodes.back().op)) {
    squared_error(answers, batch.targets, loss_point_, pass.rule, batch.first_image, error);
  } else {
    cross_entropy_error(answers, batch.labels, options_.form, random, batch.first_image, error);
  }
  tape_.backward(pass, error);
  ++steps_;
  return result;
}

void IntegerSession::set_steps(std::int64_t steps) {
  steps_ = steps;
  tape_.weights_changed();
}

}  // namespace nibble
