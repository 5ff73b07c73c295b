// SPDX-License-Identifier: Apache-2.0
// What one step of integer training shows.
#include "integer_training/integer_observation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/integer_loops/integer_loops.h"

namespace nibble::inline integer_training {
namespace {

constexpr int kBins = 64;
constexpr std::size_t kMostShown = 1 << 18;  // of a value or an error: those of the first images

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

void tell_histogram(const Moment& now, const std::string& tag,
                    std::span<const std::int8_t> mantissas, double unit) {
  EventSink* events = now.observation.events;
  if (events == nullptr) return;
  std::vector<float> values;
  values.reserve(mantissas.size());
  for (const int each : mantissas) values.push_back(static_cast<float>(each * unit));
  events->histogram(tag, now.step, values);
}

void add_histogram(const Moment& now, const std::string& layer, const std::string& role,
                   std::span<const std::int8_t> mantissas, double unit) {
  HistogramRow row{.epoch = now.epoch,
                   .layer = layer,
                   .role = role,
                   .low = -128 * unit,
                   .high = 128 * unit,
                   .counts = std::vector<std::int64_t>(kBins)};
  for (const int each : mantissas)
    ++row.counts[static_cast<std::size_t>((each + 128) / (256 / kBins))];
  now.observation.histograms.push_back(std::move(row));
}

void add_layer(const Moment& now, const std::string& layer, std::span<const std::int8_t> mantissas,
               double unit, double share_at_rails) {
  double sum = 0;
  double squares = 0;
  for (const int each : mantissas) {
    sum += each;
    squares += each * each;
  }
  const auto [least, most] = std::ranges::minmax(mantissas);
  const auto count = static_cast<double>(mantissas.size());
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  now.observation.layers.push_back({.epoch = now.epoch,
                                    .layer = layer,
                                    .role = "weight",
                                    .format = "int8",
                                    .elements = static_cast<std::int64_t>(mantissas.size()),
                                    .min = least * unit,
                                    .max = most * unit,
                                    .mean = mean * unit,
                                    .deviation = std::sqrt(std::max(variance, 0.0)) * unit,
                                    .share_saturated = share_at_rails});
}

void add_weight(const Moment& now, const TrainedTensor& tensor) {
  const auto [layer, kind] = parts_of(tensor.name());
  const std::vector<std::int8_t> mantissas = tensor.mantissas();
  const UpdateRecord update = tensor.last_update();
  const auto count = static_cast<std::int64_t>(mantissas.size());
  const std::int64_t rails = integer_loops().count_at_rails(mantissas.data(), mantissas.size());
  now.observation.integers.push_back({.epoch = now.epoch,
                                      .layer = layer,
                                      .tensor = kind,
                                      .shift = update.shift,
                                      .share_at_rails = share(rails, count),
                                      .share_moved = share(update.moved, count)});
  const double unit = std::ldexp(1.0, tensor.exponent());
  tell_histogram(now, kind + "/" + layer, mantissas, unit);
  if (kind != "weight") return;  // the tables have the weight of a layer
  add_layer(now, layer, mantissas, unit, share(rails, count));
  add_histogram(now, layer, kind, mantissas, unit);
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
    const double unit = std::ldexp(1.0, backend.read_slots().exponent(made));
    std::vector<std::int8_t> all(static_cast<std::size_t>(made.images * made.picture.elements()));
    backend.store(made, all);
    const std::span shown = std::span(all).first(std::min(all.size(), kMostShown));
    tell_histogram(now, tensor + "/" + layer, shown, unit);
    add_histogram(now, layer, tensor, shown, unit);
  };
}

void observe_integers(const IntegerTape& tape, std::int64_t epoch, std::int64_t step,
                      Observation& observation) {
  const Moment now{epoch, step, observation};
  const std::vector<PointState> states = tape.point_states();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const PointState& state = states[i];
    if (state.batches == 0) continue;
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
