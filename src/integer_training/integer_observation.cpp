// SPDX-License-Identifier: Apache-2.0
// What one step of integer training shows.
#include "integer_training/integer_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "laws/batch_norm.h"

namespace nibble::inline integer_training {
namespace {

constexpr int kBins = 64;
constexpr std::int64_t kMostShown = 1 << 18;  // of a value or an error: those of the first images

// "conv1.value" is (conv1, value).
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void tell(const IntegerRow& row, std::int64_t step, EventSink& events) {
  const std::string name = row.layer + "." + row.tensor;
  events.scalar("shift/" + name, step, static_cast<double>(row.shift));
  if (row.share_saturated) events.scalar("saturated/" + name, step, *row.share_saturated);
  if (row.share_at_rails) events.scalar("rails/" + name, step, *row.share_at_rails);
  if (row.share_moved) events.scalar("moved/" + name, step, *row.share_moved);
}

// When a step is looked at, and who is told.
struct Moment {
  std::int64_t epoch;
  std::int64_t step;
  Observation& observation;
};

// How often every mantissa comes: what histograms, means and shares are made of.
class MantissaCounts {
 public:
  explicit MantissaCounts(std::span<const std::int8_t> mantissas) {
    // Four tables, so that a run of equal mantissas does not wait for its own count.
    std::array<std::array<std::int64_t, kMantissas>, 4> tables{};
    for (std::size_t i = 0; i < mantissas.size(); ++i)
      ++tables[i % 4][static_cast<std::size_t>(mantissas[i] - kLeast)];
    for (const auto& table : tables) {
      for (std::size_t k = 0; k < kMantissas; ++k) counts_[k] += table[k];
    }
  }

  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t k = 0; k < kMantissas; ++k) {
      if (counts_[k] > 0) visit(static_cast<int>(k) + kLeast, counts_[k]);
    }
  }
  std::int64_t of(int mantissa) const {
    return counts_[static_cast<std::size_t>(mantissa - kLeast)];
  }
  std::int64_t at_rails() const { return of(-127) + of(127); }

 private:
  static constexpr std::size_t kMantissas = 256;
  static constexpr int kLeast = -128;
  std::array<std::int64_t, kMantissas> counts_{};
};

void tell_histogram(const Moment& now, const std::string& tag, const MantissaCounts& counts,
                    double unit) {
  EventSink* events = now.observation.events;
  if (events == nullptr) return;
  std::vector<CountedValue> values;
  counts.each([&](int mantissa, std::int64_t count) {
    values.push_back({static_cast<float>(mantissa * unit), count});
  });
  events->counted_histogram(tag, now.step, values);
}

void add_histogram(const Moment& now, const std::string& layer, const std::string& role,
                   const MantissaCounts& counts, double unit) {
  HistogramRow row{.epoch = now.epoch,
                   .layer = layer,
                   .role = role,
                   .low = -128 * unit,
                   .high = 128 * unit,
                   .counts = std::vector<std::int64_t>(kBins)};
  counts.each([&](int mantissa, std::int64_t count) {
    row.counts[static_cast<std::size_t>((mantissa + 128) / (256 / kBins))] += count;
  });
  now.observation.histograms.push_back(std::move(row));
}

// By a device that was lost later in the step.
bool has_histogram(const Observation& observation, const std::string& layer,
                   const std::string& role) {
  return std::ranges::any_of(observation.histograms, [&](const HistogramRow& row) {
    return row.layer == layer && row.role == role;
  });
}

void add_layer(const Moment& now, const std::string& layer, const MantissaCounts& counts,
               std::int64_t elements, double unit) {
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  int least = 127;
  int most = -128;
  counts.each([&](int mantissa, std::int64_t count) {
    sum += mantissa * count;
    squares += mantissa * mantissa * count;
    least = std::min(least, mantissa);
    most = std::max(most, mantissa);
  });
  const auto count = static_cast<double>(elements);
  const double mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(squares) / count - mean * mean;
  now.observation.layers.push_back({.epoch = now.epoch,
                                    .layer = layer,
                                    .role = "weight",
                                    .format = "int8",
                                    .elements = elements,
                                    .min = least * unit,
                                    .max = most * unit,
                                    .mean = mean * unit,
                                    .deviation = std::sqrt(std::max(variance, 0.0)) * unit,
                                    .share_saturated = share(counts.at_rails(), elements)});
}

// γ and β are fine numbers: the mantissas beside them are only what they round to.
void add_norm(const Moment& now, const TrainedTensor& tensor) {
  const auto [layer, kind] = parts_of(tensor.name());
  now.observation.integers.push_back(
      {.epoch = now.epoch, .layer = layer, .tensor = kind, .shift = tensor.last_update().shift});
  if (now.observation.events == nullptr) return;
  std::vector<float> values;
  for (const std::int32_t fine : tensor.read().fine)
    values.push_back(std::ldexp(static_cast<float>(fine), kNormScaleExponent));
  now.observation.events->histogram(kind + "/" + layer, now.step, values);
}

void add_weight(const Moment& now, const TrainedTensor& tensor) {
  if (tensor.norm() != NormPart::none) return add_norm(now, tensor);
  const auto [layer, kind] = parts_of(tensor.name());
  const MantissaCounts counts(tensor.mantissas());
  const UpdateRecord update = tensor.last_update();
  const auto elements = static_cast<std::int64_t>(tensor.size());
  now.observation.integers.push_back({.epoch = now.epoch,
                                      .layer = layer,
                                      .tensor = kind,
                                      .shift = update.shift,
                                      .share_at_rails = share(counts.at_rails(), elements),
                                      .share_moved = share(update.moved, elements)});
  const double unit = std::ldexp(1.0, tensor.exponent());
  tell_histogram(now, kind + "/" + layer, counts, unit);
  if (kind != "weight") return;  // the tables have the weight of a layer
  add_layer(now, layer, counts, elements, unit);
  add_histogram(now, layer, kind, counts, unit);
}

// Of all layers, tensor by tensor.
void tell_shifts(const Moment& now) {
  std::map<std::string, std::vector<float>> shifts;
  for (const IntegerRow& row : now.observation.integers)
    shifts[row.tensor].push_back(static_cast<float>(row.shift));
  for (const auto& [tensor, values] : shifts)
    now.observation.events->histogram("shifts/" + tensor, now.step, values);
}

}  // namespace

PointObserver point_observer(std::int64_t epoch, std::int64_t step, Observation& observation) {
  return [epoch, step, &observation](const std::string& point, IntegerBackend& backend,
                                     const Values& made) {
    const Moment now{epoch, step, observation};
    const auto [layer, tensor] = parts_of(point);
    if (has_histogram(observation, layer, tensor)) return;
    const double unit = std::ldexp(1.0, backend.read_slots().exponent(made));
    Values first = made;
    first.images = std::min(made.images, (kMostShown - 1) / made.picture.elements() + 1);
    std::vector<std::int8_t> numbers(
        static_cast<std::size_t>(first.images * made.picture.elements()));
    backend.store(first, numbers);
    const std::span<const std::int8_t> shown(
        numbers.data(), std::min(numbers.size(), static_cast<std::size_t>(kMostShown)));
    const MantissaCounts counts(shown);
    tell_histogram(now, tensor + "/" + layer, counts, unit);
    add_histogram(now, layer, tensor, counts, unit);
  };
}

void observe_integers(const IntegerTape& tape, std::int64_t epoch, std::int64_t step,
                      Observation& observation) {
  const Moment now{epoch, step, observation};
  const std::vector<PointState> states = tape.point_states();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const PointState& state = states[i];
    // Batch norms shift channel by channel: there is no shift of the tensor.
    if (state.batches == 0 || state.shift == PointState::kUnknown) continue;
    const auto [layer, tensor] = parts_of(tape.points()[i].name);
    observation.integers.push_back({.epoch = epoch,
                                    .layer = layer,
                                    .tensor = tensor,
                                    .shift = state.shift,
                                    .share_saturated = share(state.saturated, state.elements),
                                    .misses = state.misses,
                                    .batches = state.batches});
  }
  for (const TrainedTensor* each : tape.parameters()) add_weight(now, *each);
  if (observation.events == nullptr) return;
  for (const IntegerRow& row : observation.integers) tell(row, step, *observation.events);
  tell_shifts(now);
}

}  // namespace nibble::inline integer_training
