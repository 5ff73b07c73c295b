// SPDX-License-Identifier: Apache-2.0
// How integer training is saved and goes on.
#include <algorithm>
#include <string>

#include "integer_run/integer_learner.h"

namespace nibble {
namespace {

ConstTensorView view_of_words(const std::vector<std::int32_t>& values) {
  return view_of(std::span<const std::int32_t>(values));
}

void take_words(const Checkpoint& checkpoint, const std::string& name,
                std::vector<std::int32_t>& values) {
  if (values.empty()) return;
  const Shape shape{static_cast<std::int64_t>(values.size())};
  std::ranges::copy(checkpoint.tensor(name, DType::i32, shape).as<std::int32_t>(), values.begin());
}

}  // namespace

void IntegerLearner::put_state(Words& words, std::vector<NamedTensorView>& tensors) const {
  put_integer(words, "steps", session_.steps());
  put_integer(words, "mu", mu_);
  put_integer(words, "average.count", averager_.count());
  for (const RoundingPoint* point : session_.tape().points()) {
    put_integer(words, "shift." + point->name(), point->has_shift() ? point->shift() : -1);
    put_integer(words, "other." + point->name(), point->other_shift());
    put_integer(words, "misses." + point->name(), point->misses());
    put_integer(words, "batches." + point->name(), point->batches());
  }
  put_integer(words, "shift.loss",
              session_.loss_point().has_shift() ? session_.loss_point().shift() : -1);
  for (const TrainedTensor* each : session_.tape().parameters()) {
    tensors.push_back({each->name, each->mantissas.view()});
    if (!each->fine.empty()) tensors.push_back({each->name + ".fine", view_of_words(each->fine)});
    if (!each->momentum.empty())
      tensors.push_back({each->name + ".momentum", view_of_words(each->momentum)});
  }
  for (NamedTensorView& sum : averager_.state()) tensors.push_back(std::move(sum));
}

void IntegerLearner::take_state(const Checkpoint& checkpoint) {
  const Words& words = checkpoint.words;
  mu_ = static_cast<int>(integer_word(words, "mu"));
  const auto shift = [&](const std::string& name) {
    return static_cast<int>(integer_word(words, "shift." + name));
  };
  for (RoundingPoint* point : session_.tape().points()) {
    const auto other = static_cast<int>(integer_word(words, "other." + point->name()));
    point->restore(shift(point->name()), other, integer_word(words, "misses." + point->name()),
                   integer_word(words, "batches." + point->name()));
  }
  session_.loss_point().restore(shift("loss"), -1, 0, 0);
  for (TrainedTensor* each : session_.tape().parameters()) {
    std::ranges::copy(
        checkpoint.tensor(each->name, DType::i8, each->mantissas.shape()).as<std::int8_t>(),
        each->mantissas.as<std::int8_t>().begin());
    take_words(checkpoint, each->name + ".fine", each->fine);
    take_words(checkpoint, each->name + ".momentum", each->momentum);
  }
  session_.set_steps(integer_word(words, "steps"));
  averager_.set_state(checkpoint, integer_word(words, "average.count"),
                      session_.tape().parameters());
}

}  // namespace nibble
