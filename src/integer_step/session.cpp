// SPDX-License-Identifier: Apache-2.0
// A network in integer training.
#include "integer_step/session.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "backend/loss_laws.h"
#include "integer_step/choose_place.h"
#include "integer_step/trained_tensor.h"

namespace nibble::inline integer_step {
namespace {

constexpr std::int64_t kMostClasses = 4096;  // the sums of the loss then fit 64 bits

void check_loss(const Node& node) {
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

void check_integer_answer(const Network& network) {
  check_loss(network.nodes.back());
  const std::size_t answer = output_of(network);
  const Picture picture = pictures_of(network)[answer];
  if (picture.pixels() != 1)
    refuse_layer(network.nodes[answer], "a picture", "an answer of one pixel");
  if (picture.channels > kMostClasses)
    refuse_layer(network.nodes[answer], "more answers", "at most 4096");
}

IntegerSession::IntegerSession(const Network& network, const IntegerOptions& options,
                               Communicator* cluster)
    : IntegerSession(network, options, cluster, placement_of(network, options)) {}

IntegerSession::IntegerSession(const Network& network, const IntegerOptions& options,
                               Communicator* cluster, Placement placement)
    : network_(network),
      options_(options),
      cluster_(cluster != nullptr && cluster->size() > 1 ? cluster : nullptr),
      tape_(network, options.roundings, std::move(placement), options.frozen, options.statistics),
      loss_point_(tape_.answer_backend().new_point(
          {"loss", options.roundings.all.error, kIntegerLossStream})) {
  check_integer_answer(network);
  cross_entropy_.form = options.form;
  if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&network.nodes.back().op)) {
    cross_entropy_.smoothing = smoothing_of(std::bit_cast<std::uint32_t>(loss->smoothing),
                                            tape_.answer_picture().channels);
  }
  std::vector<Parameter> described = parameters_of(network);
  std::erase_if(described, [](const Parameter& each) { return !each.is_trained; });
  for (std::size_t i = 0; i < tape_.parameters().size(); ++i) {
    TrainedTensor& parameter = *tape_.parameters()[i];
    if (parameter.norm() != NormPart::none && std::holds_alternative<ShiftUpdate>(options.update))
      refuse_layer(network.nodes[described[i].node], "the update rule shift", "sgd");
    const bool is_smaller = !parameter.is_bias() && only_adds_read(network, described[i].node);
    const int exponent = parameter.exponent() - (is_smaller ? options.residual_bits : 0);
    const std::uint32_t stream = kIntegerInitialStreams + static_cast<std::uint32_t>(i);
    parameter.write(initial_state(parameter, exponent, options.update, {options.seed, stream, 0}));
  }
}

IntegerAnswers IntegerSession::step(const IntegerBatch& batch) {
  submit(batch);
  return take_answers();
}

IntegerAnswers IntegerSession::take_answers() {
  const Untaken oldest = std::move(untaken_.front());
  untaken_.pop_front();
  const Picture& picture = tape_.answer_picture();
  IntegerAnswers result{.mantissas = {}, .exponent = 0, .width = picture.channels};
  result.mantissas.resize(static_cast<std::size_t>(oldest.images * picture.elements()));
  result.exponent = oldest.answers->get(result.mantissas);
  return result;
}

void IntegerSession::submit(const IntegerBatch& batch) {
  const StepContext step{
      .rule = options_.rule,
      .random = {options_.seed, kIntegerLossStream, static_cast<std::uint32_t>(steps_)},
      .is_training = true,
      .update = options_.update,
      .first_image = batch.first_image,
      .all_images = batch.all_images,
      .cluster = cluster_};
  const Values answers = tape_.forward(step, batch.input);
  tape_.backward(step, [&](const Values& error) {
    LossCase loss = CrossEntropyLoss{batch.labels, cross_entropy_, kIntegerLossStream};
    if (is<SquaredError>(network_.nodes.back().op)) loss = SquaredLoss{batch.targets, loss_point_};
    tape_.answer_backend().loss(loss, answers, error);
  });
  ++steps_;
  untaken_.push_back({tape_.answer_backend().store_later(answers), answers.images});
}

PointState IntegerSession::loss_state() const {
  return tape_.answer_backend().read_slots().point(loss_point_);
}

void IntegerSession::set_loss_state(const PointState& state) {
  tape_.answer_backend().set_point(loss_point_, state);
}

}  // namespace nibble::inline integer_step
