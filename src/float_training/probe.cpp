// SPDX-License-Identifier: Apache-2.0
// What rounding does to every layer and role.
#include "float_training/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kBins = 64;

struct Moments {
  double min = 0, max = 0, mean = 0, deviation = 0;
};

Moments moments_of(std::span<const float> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::ranges::minmax(values);
  double sum = 0;
  double squares = 0;
  for (const float x : values) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  return {static_cast<double>(least), static_cast<double>(most), mean,
          std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

std::vector<std::int64_t> count_bins(std::span<const float> values, double low, double high) {
  std::vector<std::int64_t> counts(kBins);
  const double width = (high - low) / static_cast<double>(kBins);
  for (const float x : values) {
    if (!std::isfinite(x)) continue;
    const double bin = width > 0 ? std::floor((static_cast<double>(x) - low) / width) : 0.0;
    ++counts[static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(kBins - 1)))];
  }
  return counts;
}

// The share of numbers beyond the ends of their grid.
double share_beyond(std::span<const float> values, const StepGrid& steps) {
  const std::size_t row = values.size() / std::max<std::size_t>(steps.steps.size(), 1);
  const auto low = static_cast<float>(steps.grid.low);
  const auto high = static_cast<float>(steps.grid.high);
  std::int64_t beyond = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float quotient = values[i] / steps.steps[i / row];
    beyond += quotient < low || quotient > high ? 1 : 0;
  }
  return values.empty() ? 0.0 : static_cast<double>(beyond) / static_cast<double>(values.size());
}

// The node's own format, else the ends of the grid.
std::string grid_text(Role role, const Node& node, const IntegerGrid& grid) {
  const Precision& named = role == Role::weight ? node.weight : node.value;
  return named.is_float32() ? fmt::format("{} to {}", grid.low, grid.high)
                            : to_string(named.format);
}

}  // namespace

void Probe::observe(Role role, std::string_view layer, ConstTensorView before,
                    ConstTensorView after, const RoundingRule* rule) {
  if (rule == nullptr || rule->precision.is_float32()) {
    return add(role, layer, rule != nullptr ? to_string(rule->precision.format) : "fp32", before,
               nullptr);
  }
  const ErrorStatistics errors = error_statistics(
      before, after, rule->precision.format,
      {.rounding = rule->precision.rounding, .overflow = rule->precision.overflow});
  add(role, layer, to_string(rule->precision.format), before, &errors);
}

void Probe::observe(Role role, const Node& node, ConstTensorView before, ConstTensorView after,
                    const StepGrid& steps) {
  ErrorStatistics errors = error_statistics(before, after, Format{});
  errors.share_saturated = share_beyond(before.as<float>(), steps);
  add(role, node.name, grid_text(role, node, steps.grid), before, &errors);
}

void Probe::add(Role role, std::string_view layer, std::string format, ConstTensorView before,
                const ErrorStatistics* errors) {
  const auto values = before.as<float>();
  const Moments moments = moments_of(values);
  EventSink* events = observation_.events;
  LayerRow row{.epoch = epoch_,
               .layer = std::string(layer),
               .role = std::string(name_of(role)),
               .format = std::move(format),
               .elements = before.elements(),
               .min = moments.min,
               .max = moments.max,
               .mean = moments.mean,
               .deviation = moments.deviation,
               .sqnr_db = {},
               .share_saturated = {},
               .share_flushed = {}};
  const std::string name = fmt::format("{}/{}", name_of(role), layer);
  if (errors != nullptr) {
    if (!std::isnan(errors->sqnr_db)) row.sqnr_db = errors->sqnr_db;
    row.share_saturated = errors->share_saturated;
    row.share_flushed = errors->share_flushed;
    if (events != nullptr && row.sqnr_db && std::isfinite(*row.sqnr_db))
      events->scalar("sqnr/" + name, step_, *row.sqnr_db);
  }
  observation_.layers.push_back(std::move(row));
  observation_.histograms.push_back({.epoch = epoch_,
                                     .layer = std::string(layer),
                                     .role = std::string(name_of(role)),
                                     .low = moments.min,
                                     .high = moments.max,
                                     .counts = count_bins(values, moments.min, moments.max)});
  if (events != nullptr) events->histogram(name, step_, values);
}

}  // namespace nibble::inline float_training
