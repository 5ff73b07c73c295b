// SPDX-License-Identifier: Apache-2.0
// Answers of an integer network.
#include "integer_step/predictor.h"

#include <algorithm>
#include <utility>

#include "integer_step/batch_parts.h"

namespace nibble::inline integer_step {

namespace {

// Those of all ranks, where each has the answers of its share.
std::vector<std::int8_t> joined(std::span<const std::int8_t> own, std::size_t first,
                                std::size_t size, Communicator& cluster) {
  std::vector<std::int32_t> all(size);
  std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(first));
  cluster.sum(all);
  std::vector<std::int8_t> mantissas;
  for (const std::int32_t each : all) mantissas.push_back(static_cast<std::int8_t>(each));
  return mantissas;
}

}  // namespace

IntegerPredictor::IntegerPredictor(const Network& network, const std::string& device,
                                   Communicator* cluster)
    : tape_(network, {}, Placement(make_backend(device))), cluster_(cluster) {}

void IntegerPredictor::set_weight(std::size_t parameter, const Tensor& tensor, int exponent) {
  TrainedTensor& own = *tape_.parameters()[parameter];
  if (own.norm() == NormPart::none) return own.write_mantissas(tensor.as<std::int8_t>(), exponent);
  WeightsState state = own.read();
  const auto numbers = tensor.as<std::int32_t>();
  state.fine.assign(numbers.begin(), numbers.end());
  own.write(state);
}

Calibration IntegerPredictor::calibrate(const InputBatch& examples) {
  return calibrate({.images = examples.images,
                    .most = examples.images,
                    .load = [&](std::int64_t, std::int64_t) { return examples; }});
}

Calibration IntegerPredictor::calibrate(const ExampleParts& examples) {
  thaw();
  if (examples.images <= examples.most) {
    answer(examples.load(0, examples.images), ShiftRule::exact);
  } else {
    run_parts(examples);
  }
  return {tape_.value_exponents(), tape_.statistics()};
}

// A rank without examples runs one empty part, for the others wait for it.
void IntegerPredictor::run_parts(const ExampleParts& examples) {
  const RankShare share = RankShare::of(cluster_);
  const std::int64_t first = share.first(examples.images);
  const std::int64_t end = first + share.count(examples.images);
  BatchParts parts(cluster_);
  do {
    std::int64_t begin = first;
    do {
      const std::int64_t count = std::min(examples.most, end - begin);
      parts.begin_part();
      tape_.forward({.rule = ShiftRule::exact,
                     .first_image = begin,
                     .all_images = examples.images,
                     .cluster = &parts},
                    examples.load(begin, count));
      begin += count;
    } while (begin < end);
  } while (!parts.end_pass());
}

void IntegerPredictor::freeze(const Calibration& calibration) {
  tape_.freeze(calibration.exponents, calibration.norms);
}

IntegerAnswers IntegerPredictor::answer(const InputBatch& examples, ShiftRule rule) {
  submit(examples, rule);
  return take_answers();
}

void IntegerPredictor::submit(const InputBatch& examples, ShiftRule rule) {
  const RankShare share = RankShare::of(cluster_);
  const std::int64_t first = share.first(examples.images);
  const StepContext step{
      .rule = rule, .first_image = first, .all_images = examples.images, .cluster = cluster_};
  const InputBatch own = part_of(examples, first, share.count(examples.images));
  const Values answers = tape_.forward(step, own);
  untaken_.push_back(
      {tape_.answer_backend().store_later(answers), own.images, examples.images, first});
}

IntegerAnswers IntegerPredictor::take_answers() {
  const Untaken oldest = std::move(untaken_.front());
  untaken_.pop_front();
  const Picture& picture = answer_picture();
  IntegerAnswers answers{.mantissas = {}, .exponent = 0, .width = picture.channels};
  answers.mantissas.resize(static_cast<std::size_t>(oldest.images * picture.elements()));
  answers.exponent = oldest.answers->get(answers.mantissas);
  if (cluster_ == nullptr) return answers;
  answers.mantissas =
      joined(answers.mantissas, static_cast<std::size_t>(oldest.first * answers.width),
             static_cast<std::size_t>(oldest.all_images * answers.width), *cluster_);
  return answers;
}

}  // namespace nibble::inline integer_step
