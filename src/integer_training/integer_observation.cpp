// SPDX-License-Identifier: Apache-2.0
// What one step of integer training shows.
#include "integer_training/integer_observation.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/integer_loops/integer_loops.h"

namespace nibble::inline integer_training {
namespace {

constexpr int kBins = 64;

// "conv1.value" is (conv1, value).
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void tell(const IntegerRow& row, std::int64_t step, EventSink* events) {
  if (events == nullptr) return;
  const std::string name = row.layer + "." + row.tensor;
  events->scalar("shift/" + name, step, static_cast<double>(row.shift));
  if (row.share_saturated) events->scalar("saturated/" + name, step, *row.share_saturated);
  if (row.share_at_rails) events->scalar("rails/" + name, step, *row.share_at_rails);
  if (row.share_moved) events->scalar("moved/" + name, step, *row.share_moved);
}

void add_weight(const TrainedTensor& tensor, std::int64_t epoch, std::int64_t step,
                Observation& observation) {
  const auto [layer, kind] = parts_of(tensor.name());
  const std::vector<std::int8_t> mantissas = tensor.mantissas();
  const UpdateRecord update = tensor.last_update();
  const auto count = static_cast<std::int64_t>(mantissas.size());
  const std::int64_t rails = integer_loops().count_at_rails(mantissas.data(), mantissas.size());
  observation.integers.push_back({.epoch = epoch,
                                  .layer = layer,
                                  .tensor = kind,
                                  .shift = update.shift,
                                  .share_at_rails = share(rails, count),
                                  .share_moved = share(update.moved, count)});
  tell(observation.integers.back(), step, observation.events);
  const double unit = std::ldexp(1.0, tensor.exponent());
  if (observation.events != nullptr) {
    std::vector<float> values;
    values.reserve(mantissas.size());
    for (const int each : mantissas) values.push_back(static_cast<float>(each * unit));
    observation.events->histogram(kind + "/" + layer, step, values);
  }

  if (kind != "weight") return;  // layers.csv has the weight of a layer
  HistogramRow histogram{.epoch = epoch,
                         .layer = layer,
                         .role = "weight",
                         .low = -128 * unit,
                         .high = 128 * unit,
                         .counts = std::vector<std::int64_t>(kBins)};
  double sum = 0;
  double squares = 0;
  int least = 127;
  int most = -127;
  for (const int each : mantissas) {
    sum += each;
    squares += each * each;
    least = std::min(least, each);
    most = std::max(most, each);
    ++histogram.counts[static_cast<std::size_t>((each + 128) / (256 / kBins))];
  }
  const double mean = sum / static_cast<double>(count);
  const double variance = squares / static_cast<double>(count) - mean * mean;
  observation.layers.push_back({.epoch = epoch,
                                .layer = layer,
                                .role = "weight",
                                .format = "int8",
                                .elements = count,
                                .min = least * unit,
                                .max = most * unit,
                                .mean = mean * unit,
                                .deviation = std::sqrt(std::max(variance, 0.0)) * unit,
                                .share_saturated = share(rails, count)});
  observation.histograms.push_back(std::move(histogram));
}

}  // namespace

void observe_integers(const IntegerTape& tape, std::int64_t epoch, std::int64_t step,
                      Observation& observation) {
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
    tell(observation.integers.back(), step, observation.events);
  }
  for (const TrainedTensor* each : tape.parameters()) add_weight(*each, epoch, step, observation);
}

}  // namespace nibble::inline integer_training
