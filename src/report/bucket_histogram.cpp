// SPDX-License-Identifier: Apache-2.0
// Counts values in exponential buckets.
#include "report/event_record.h"

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

// Values in the order in which they are added, counts of their buckets, then the whole.
class BucketCounts {
 public:
  void add(double x, std::int64_t count) {
    if (!std::isfinite(x) || count == 0) return;
    result_.smallest = result_.count == 0 ? x : std::min(result_.smallest, x);
    result_.largest = result_.count == 0 ? x : std::max(result_.largest, x);
    const auto times = static_cast<double>(count);
    result_.sum += x * times;
    result_.sum_of_squares += x * x * times;
    result_.count += count;
    counts_[static_cast<std::size_t>(std::ranges::upper_bound(limits(), x) - limits().begin())] +=
        times;
  }

  BucketHistogram result() {
    if (result_.count == 0) return result_;
    const auto is_used = [](double count) { return count > 0; };
    const auto first = std::ranges::find_if(counts_, is_used) - counts_.begin();
    const auto end =
        std::find_if(counts_.rbegin(), counts_.rend(), is_used).base() - counts_.begin();
    result_.limits.assign(limits().begin() + first, limits().begin() + end);
    result_.counts.assign(counts_.begin() + first, counts_.begin() + end);
    return result_;
  }

 private:
  static const std::vector<double>& limits() {
    static const std::vector<double> kLimits = make_limits();
    return kLimits;
  }

  BucketHistogram result_;
  std::vector<double> counts_ = std::vector<double>(limits().size());
};

}  // namespace

BucketHistogram bucket_histogram(std::span<const float> values) {
  BucketCounts counts;
  for (const float value : values) counts.add(value, 1);
  return counts.result();
}

BucketHistogram bucket_histogram(std::span<const CountedValue> values) {
  BucketCounts counts;
  for (const CountedValue& each : values) counts.add(each.value, each.count);
  return counts.result();
}

}  // namespace nibble::inline report
