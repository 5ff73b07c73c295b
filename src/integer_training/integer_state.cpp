// SPDX-License-Identifier: Apache-2.0
// How integer training is saved and goes on.
#include <algorithm>
#include <string>

#include "integer_training/integer_learner.h"

namespace nibble::inline integer_training {
namespace {

// What a checkpoint calls a point: "shift.conv1.value".
struct PointWords {
  explicit PointWords(const std::string& name)
      : shift("shift." + name),
        other("other." + name),
        misses("misses." + name),
        batches("batches." + name) {}
  std::string shift, other, misses, batches;
};

void take_words(const Checkpoint& checkpoint, const std::string& name,
                std::vector<std::int32_t>& values) {
  if (values.empty()) return;
  const Shape shape{static_cast<std::int64_t>(values.size())};
  std::ranges::copy(checkpoint.tensor(name, DType::i32, shape).as<std::int32_t>(), values.begin());
}

// What a checkpoint calls what a batch norm keeps: mean, spread, exponent of each channel.
struct RunningTensor {
  std::string name;
  Shape shape;
};
static_assert(sizeof(NormMoments) == 3 * sizeof(std::int64_t));

std::vector<RunningTensor> running_tensors(const Network& network) {
  std::vector<RunningTensor> tensors;
  for (const Parameter& each : parameters_of(network)) {
    if (!each.is_trained && each.kind == "mean")
      tensors.push_back({network.nodes[each.node].name + ".running", {each.shape[0], 3}});
  }
  return tensors;
}

}  // namespace

void IntegerLearner::put_state(Words& words, std::vector<NamedTensorView>& tensors) const {
  session_.steadily([&] {
    std::vector<NamedTensorView> read;
    read_state(words, read);
    tensors.insert(tensors.end(), read.begin(), read.end());
  });
}

void IntegerLearner::read_state(Words& words, std::vector<NamedTensorView>& tensors) const {
  put_integer(words, "steps", session_.steps());
  put_number(words, "mu", rate_);
  const std::vector<PointState> points = session_.tape().point_states();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointWords names(session_.tape().points()[i].name);
    put_integer(words, names.shift, points[i].shift);
    put_integer(words, names.other, points[i].other);
    put_integer(words, names.misses, points[i].misses);
    put_integer(words, names.batches, points[i].batches);
  }
  put_integer(words, "shift.loss", session_.loss_state().shift);
  const std::vector<WeightsState>& saved = states();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const TrainedTensor* each = session_.tape().parameters()[i];
    const WeightsState& state = saved[i];
    if (moves_exponents()) put_integer(words, "exponent." + each->name(), state.exponent);
    tensors.push_back({each->name(), state.mantissas.view()});
    const auto add = [&](const std::string& kind, std::span<const std::int32_t> values) {
      if (!values.empty()) tensors.push_back({each->name() + kind, view_of(values)});
    };
    add(".fine", state.fine);
    add(".momentum", state.momentum);
  }
  const std::vector<RunningTensor> kept = running_tensors(recipe_.network);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const auto* numbers = reinterpret_cast<const std::byte*>(running_[i].data());
    tensors.push_back({kept[i].name, {numbers, DType::i64, kept[i].shape}});
  }
  averager_.put_state(words, tensors);
}

void IntegerLearner::take_state(const Checkpoint& checkpoint) {
  const Words& words = checkpoint.words;
  rate_ = number_word(words, "mu");
  for (const PlacedPoint& point : session_.tape().points()) {
    const PointWords names(point.name);
    point.backend->set_point(point.point,
                             {.shift = static_cast<int>(integer_word(words, names.shift)),
                              .other = static_cast<int>(integer_word(words, names.other)),
                              .misses = integer_word(words, names.misses),
                              .batches = integer_word(words, names.batches)});
  }
  session_.set_loss_state({.shift = static_cast<int>(integer_word(words, "shift.loss"))});
  for (TrainedTensor* each : session_.tape().parameters()) {
    WeightsState state = each->read();
    if (moves_exponents())
      state.exponent = static_cast<int>(integer_word(words, "exponent." + each->name()));
    std::ranges::copy(checkpoint.tensor(each->name(), DType::i8, each->shape()).as<std::int8_t>(),
                      state.mantissas.as<std::int8_t>().begin());
    take_words(checkpoint, each->name() + ".fine", state.fine);
    take_words(checkpoint, each->name() + ".momentum", state.momentum);
    each->write(state);
  }
  const std::int64_t steps = integer_word(words, "steps");
  if (recipe_.options.statistics == FrozenStatistics::running && steps > 0) {
    std::vector<RunningStatistics> running;
    for (const RunningTensor& each : running_tensors(recipe_.network)) {
      const auto numbers = checkpoint.tensor(each.name, DType::i64, each.shape).as<std::int64_t>();
      RunningStatistics& own = running.emplace_back();
      for (std::size_t c = 0; c < numbers.size(); c += 3)
        own.push_back({numbers[c], numbers[c + 1], numbers[c + 2]});
    }
    session_.tape().set_running(running);
  }
  session_.set_steps(steps);
  states_steps_ = -1;
  averager_.take_state(checkpoint, session_.tape().parameters());
}

}  // namespace nibble::inline integer_training
