// SPDX-License-Identifier: Apache-2.0
// What a picture of a format needs: its values near zero, and its precision by magnitude.
#include "apps/nibble/format_samples.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "nibble/kernels/quantize.h"

namespace nibble {
namespace {

constexpr int kValueSteps = 2560;  // four a pixel
constexpr int kOctaveSteps = 509;  // a prime, so that samples fall everywhere between values
constexpr int kPointsAnOctave = 8;

// All samples share one group, whatever the format's blocks or axis are.
std::vector<float> rounded(const std::vector<float>& samples, Format format) {
  Scaling& s = format.scaling;
  s.axis = -1;
  if (has_scale_from_data(format)) {
    s.granularity = Granularity::block;
    s.block = static_cast<int>(samples.size());
  } else {
    s.granularity = Granularity::tensor;
  }
  std::vector<float> result(samples.size());
  quantize(view_of(std::span(samples)), view_of(std::span(result)), format);
  return result;
}

}  // namespace

bool has_scale_from_data(const Format& format) {
  const ScaleKind kind = format.scaling.kind;
  return kind != ScaleKind::none && kind != ScaleKind::given;
}

std::vector<double> values_within_limit(const Format& format) {
  std::vector<float> samples;
  for (int i = 0; i <= kValueSteps; ++i) {
    samples.push_back(static_cast<float>(kValueLimit * (2.0 * i / kValueSteps - 1)));
  }
  std::vector<double> values;
  for (const float q : rounded(samples, format)) {
    if (std::isfinite(q) && std::fabs(q) <= static_cast<float>(kValueLimit)) values.push_back(q);
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<PrecisionPoint> precision_by_magnitude(const Format& format) {
  const double limit = has_scale_from_data(format) ? kValueLimit : std::exp2(kHighestExponent + 1);
  std::vector<float> samples;
  for (int exponent = kLowestExponent - 1; std::exp2(exponent) < limit; ++exponent) {
    for (int i = 0; i < kOctaveSteps; ++i) {
      samples.push_back(static_cast<float>(std::exp2(exponent) * (1 + (i + 0.37) / kOctaveSteps)));
    }
  }
  const std::size_t count = samples.size();
  samples.push_back(static_cast<float>(limit));  // both ends of the group
  samples.push_back(static_cast<float>(-limit));
  const std::vector<float> values = rounded(samples, format);
  std::vector<double> sums = {0};  // of the squared relative errors before a sample
  for (std::size_t i = 0; i < count; ++i) {
    const double error = (double{values[i]} - double{samples[i]}) / double{samples[i]};
    const double square = error * error;
    sums.push_back(sums.back() + (square < 1 ? square : 1));  // NaN counts as all lost
  }
  const auto index_of = [&](double exponent) {
    const std::span ascending = std::span(samples).first(count);
    const auto least = static_cast<float>(std::exp2(exponent));
    return static_cast<std::size_t>(std::ranges::lower_bound(ascending, least) - ascending.begin());
  };
  const double last = std::min(std::log2(limit), double{kHighestExponent});
  std::vector<PrecisionPoint> points;
  for (int i = 0; kLowestExponent + i / double{kPointsAnOctave} <= last; ++i) {
    const double exponent = kLowestExponent + i / double{kPointsAnOctave};
    const std::size_t begin = index_of(exponent - 0.5);
    const std::size_t end = index_of(exponent + 0.5);
    const double mean = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
    points.push_back({exponent, std::clamp(-10 * std::log10(mean), 0.0, kMostDb)});
  }
  return points;
}

}  // namespace nibble
