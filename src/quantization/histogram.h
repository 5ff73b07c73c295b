// SPDX-License-Identifier: Apache-2.0
// The values of a layer in equal bins, the same whatever the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace nibble::inline quantization {

// Values from `low` to `high`; one value alone where they are equal.
struct ValueBin {
  double low = 0;
  double high = 0;
  std::int64_t count = 0;
  bool operator==(const ValueBin&) const = default;
};

// The bins cover ±2^e, e the smallest that does: they are a function of the set of values, so that
// histograms of parts, merged in any order, are the histogram of the whole. Bin k of a side holds
// the magnitudes in [k·w, (k + 1)·w), w = 2^e / kSideBins; zeros are counted apart.
class ValueHistogram {
 public:
  static constexpr std::size_t kSideBins = 4096;
  static constexpr int kLeastExponent = -100;

  ValueHistogram();

  void add(std::span<const float> values);
  void merge(const ValueHistogram& other);

  std::int64_t count() const { return count_; }  // of finite values
  std::int64_t zeros() const { return zeros_; }
  std::int64_t nans() const { return nans_; }
  std::int64_t infinities() const { return infinities_; }

  // Of the finite values, exactly; 0 where there are none.
  float min() const { return min_; }
  float max() const { return max_; }

  double bin_width() const;

  // Those with values in them, from low to high, zeros as a bin of their own; the outermost end at
  // min and max.
  std::vector<ValueBin> occupied() const;

  // The histogram of |x|. Its min is 0, which need not be a value.
  ValueHistogram magnitudes() const;

  bool operator==(const ValueHistogram&) const = default;

 private:
  void cover(int exponent);
  void add_finite(std::span<const float> values);
  void widen(float low, float high);

  std::vector<std::int64_t> bins_;  // negative magnitudes from the largest down, then the positive
  int exponent_ = kLeastExponent;
  std::int64_t count_ = 0;
  std::int64_t zeros_ = 0;
  std::int64_t nans_ = 0;
  std::int64_t infinities_ = 0;
  float min_ = 0;
  float max_ = 0;
};

// On all threads.
ValueHistogram histogram_of(std::span<const float> values);

// The value that this share (0 to 1) of the values does not exceed, linear inside a bin; 0 of an
// empty histogram.
double quantile(const ValueHistogram& histogram, double share);

// Throws, naming the layer, where a value was no finite number.
void check_finite(const ValueHistogram& histogram, std::string_view layer);

}  // namespace nibble::inline quantization
