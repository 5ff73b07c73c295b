// SPDX-License-Identifier: Apache-2.0
// Ranges by method, methods as text, and the integers that span ranges.
#include "quantization/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <utility>

#include "nibble/core/error.h"

namespace nibble::inline quantization {
namespace {

constexpr int kMaxBits = 16;

using Kind = RangeMethod::Kind;
constexpr std::array<std::pair<std::string_view, Kind>, 4> kPlain = {{
    {"max", Kind::max},
    {"entropy", Kind::entropy},
    {"mse", Kind::mse},
    {"average", Kind::average},
}};
constexpr std::string_view kPercentile = "percentile:";

float step_of(double extent, std::int64_t integers) {
  const double whole = extent > 0 ? extent : 1.0;
  return std::max(static_cast<float>(whole / static_cast<double>(integers)), FLT_MIN);
}

RealRange whole_range(const ValueHistogram& histogram, GridKind kind) {
  const double low = std::min(static_cast<double>(histogram.min()), 0.0);
  const double high = std::max(static_cast<double>(histogram.max()), 0.0);
  switch (kind) {
    case GridKind::positive:
      return {0, high};
    case GridKind::symmetric:
      return {-std::max(-low, high), std::max(-low, high)};
    case GridKind::affine:
      break;
  }
  return {low, high};
}

RealRange percentile_range(const ValueHistogram& histogram, double share, GridKind kind) {
  const RealRange whole = whole_range(histogram, kind);
  const bool is_symmetric = kind == GridKind::symmetric;
  const double high = quantile(is_symmetric ? histogram.magnitudes() : histogram, share);
  RealRange range{0, high > 0 ? high : whole.high};
  if (is_symmetric) {
    range.low = -range.high;
  } else if (kind == GridKind::affine) {
    const double low = quantile(histogram, 1 - share);
    range.low = low < 0 ? low : whole.low;
  }
  return range;
}

}  // namespace

QuantizationRange to_step(const RealRange& range, const GridChoice& choice) {
  if (choice.bits < 2 || choice.bits > kMaxBits) {
    throw Error("quantize", "bits of values", std::to_string(choice.bits),
                fmt::format("2 to {}", kMaxBits));
  }
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  const std::int64_t all = (std::int64_t{1} << choice.bits) - 1;
  switch (choice.kind) {
    case GridKind::positive:
      return {step_of(high, all), {0, all}};
    case GridKind::symmetric:
      return {step_of(std::max(-low, high), all / 2), {-(all / 2), all / 2}};
    case GridKind::affine:
      break;
  }
  const float step = step_of(high - low, all);
  const auto zero =
      std::clamp(static_cast<std::int64_t>(std::round(-low / static_cast<double>(step))),
                 std::int64_t{0}, all);
  return {step, {-zero, all - zero}};
}

RangeMethod parse_range_method(std::string_view text) {
  for (const auto& [name, kind] : kPlain) {
    if (text == name) return {.kind = kind};
  }
  if (text.starts_with(kPercentile)) {
    double percent = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kPercentile.size(), end, percent);
    if (error == std::errc{} && stop == end && percent >= 50 && percent <= 100) {
      return {.kind = Kind::percentile, .percent = percent};
    }
  }
  throw Error("calibrate", "method", fmt::format("'{}'", text),
              "max, percentile:P with P from 50 to 100, entropy, mse or average");
}

std::string to_string(const RangeMethod& method) {
  for (const auto& [name, kind] : kPlain) {
    if (method.kind == kind) return std::string(name);
  }
  return fmt::format("{}{}", kPercentile, method.percent);
}

void MovingRange::add(const RealRange& batch) {
  constexpr double kLeastShare = 0.1;
  ++batches_;
  const double share = std::max(1 / static_cast<double>(batches_), kLeastShare);
  range_.low += share * (batch.low - range_.low);
  range_.high += share * (batch.high - range_.high);
}

void ValueObserver::add(std::span<const float> batch) {
  const ValueHistogram values = histogram_of(batch);
  if (values.count() > 0) {
    average.add({static_cast<double>(values.min()), static_cast<double>(values.max())});
  }
  histogram.merge(values);
}

RealRange range_of(const ValueObserver& observer, const RangeMethod& method,
                   const GridChoice& choice) {
  const ValueHistogram& histogram = observer.histogram;
  const RealRange whole = whole_range(histogram, choice.kind);
  if (whole == RealRange{}) return whole;
  const double finest = histogram.bin_width();
  const auto entropy_cost = [&](std::span<const ValueBin> bins, const QuantizationRange& range) {
    return static_cast<double>(range.step) < finest ? HUGE_VAL : divergence(bins, range);
  };
  const auto searched = [&](const auto& cost) {
    std::vector<ValueBin> bins = histogram.occupied();
    // Every positive grid makes these 0.
    if (choice.kind == GridKind::positive) {
      std::erase_if(bins, [](const ValueBin& bin) { return bin.low < 0; });
    }
    return cheapest_range(whole, choice,
                          [&](const QuantizationRange& range) { return cost(bins, range); });
  };
  switch (method.kind) {
    case RangeMethod::Kind::percentile:
      return percentile_range(histogram, method.percent / 100, choice.kind);
    case RangeMethod::Kind::entropy:
      return searched(entropy_cost);
    case RangeMethod::Kind::mse:
      return searched(squared_error);
    case RangeMethod::Kind::average:
      return observer.average.range();
    case RangeMethod::Kind::max:
      break;
  }
  return whole;
}

}  // namespace nibble::inline quantization
