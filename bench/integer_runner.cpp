// SPDX-License-Identifier: Apache-2.0
// Steps integer training on one batch.
#include "bench/integer_runner.h"

#include <numeric>

#include "bench/network_to_measure.h"
#include "bench/stopwatch.h"
#include "core/hash.h"
#include "epoch_loop/random_batch.h"
#include "integer_training/answers.h"

namespace nibble {
namespace {

std::vector<std::int32_t> first_indices(std::int64_t count) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

}  // namespace

IntegerRunner::IntegerRunner(const std::string& network, std::int64_t batch, ShiftRule rule,
                             bool has_dropout, const std::string& device)
    : network_(network_to_measure(network, has_dropout)),
      data_(random_batch(network_, batch)),
      session_(network_, {.rule = rule, .device = device}),
      batcher_(data_, input_scale(input_of(network_), data_),
               session_.tape().answer_picture().channels),
      indices_(first_indices(batch)) {
  if (session_.runs_ahead()) batcher_.leave_gathering();  // as in training
  batch_ = batcher_.load(indices_, {}, {});
}

double IntegerRunner::median_seconds(int steps) {
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) times.push_back(seconds_of([&] { step(); }));
  return median(std::move(times));
}

double IntegerRunner::seconds_in_a_row(int steps) {
  return seconds_of([&] {
    for (int i = 0; i < steps; ++i) {
      session_.submit(batch_);
      if (i > 0) answers_ = session_.take_answers();
    }
    answers_ = session_.take_answers();
  });
}

double IntegerRunner::loss() const {
  AnswerSums sums(network_, data_);
  sums.add(answers_, batch_);
  return sums.loss_sum() / static_cast<double>(batch_.all_images);
}

std::uint64_t IntegerRunner::weights_hash() const {
  Hasher hasher;
  for (const TrainedTensor* each : session_.tape().parameters())
    hasher.add(std::span<const std::int8_t>(each->mantissas()));
  return hasher.value();
}

IntegerRunner::Roundings IntegerRunner::roundings() const {
  Roundings all;
  std::vector<PointState> states = session_.tape().point_states();
  states.push_back(session_.loss_state());
  for (const PointState& each : states) {
    all.guesses += each.batches;
    all.misses += each.misses;
    all.elements += each.elements;
    all.saturated += each.saturated;
  }
  return all;
}

void IntegerRunner::forget_guesses() {
  const std::vector<PointState> states = session_.tape().point_states();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const PlacedPoint& point = session_.tape().points()[i];
    point.backend->set_point(point.point, {.shift = states[i].shift});
  }
  session_.set_loss_state({.shift = session_.loss_state().shift});
}

double IntegerRunner::operations() const {
  double sum = 0;
  for (const std::int64_t each : multiply_accumulates(network_)) sum += static_cast<double>(each);
  return 6 * sum * static_cast<double>(batch_.all_images);
}

}  // namespace nibble
