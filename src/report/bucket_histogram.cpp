// SPDX-License-Identifier: Apache-2.0
// Counts values in exponential buckets.
#include "report/bucket_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nibble::inline report {
namespace {

constexpr double kFirst = 1e-12;  // smaller magnitudes share the two buckets around zero
constexpr double kGrowth = 1.1;

// …, -1.1e-12, -1e-12, 0, 1e-12, 1.1e-12, … up to the largest float, and one beyond it.
std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = kFirst; limit <= std::numeric_limits<float>::max(); limit *= kGrowth) {
    positive.push_back(limit);
  }
  positive.push_back(2.0 * std::numeric_limits<float>::max());
  std::vector<double> limits;
  limits.reserve(2 * positive.size() + 1);
  for (auto it = positive.rbegin(); it != positive.rend(); ++it) limits.push_back(-*it);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

}  // namespace

BucketHistogram bucket_histogram(std::span<const float> values) {
  static const std::vector<double> kLimits = make_limits();
  BucketHistogram result;
  std::vector<double> counts(kLimits.size());
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = value;
    result.smallest = result.count == 0 ? x : std::min(result.smallest, x);
    result.largest = result.count == 0 ? x : std::max(result.largest, x);
    result.sum += x;
    result.sum_of_squares += x * x;
    ++result.count;
    ++counts[static_cast<std::size_t>(std::ranges::upper_bound(kLimits, x) - kLimits.begin())];
  }
  if (result.count == 0) return result;
  const auto is_used = [](double count) { return count > 0; };
  const auto first = std::ranges::find_if(counts, is_used) - counts.begin();
  const auto end = std::find_if(counts.rbegin(), counts.rend(), is_used).base() - counts.begin();
  result.limits.assign(kLimits.begin() + first, kLimits.begin() + end);
  result.counts.assign(counts.begin() + first, counts.begin() + end);
  return result;
}

}  // namespace nibble::inline report
