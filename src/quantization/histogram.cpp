// SPDX-License-Identifier: Apache-2.0
// Counting into bins that double.
#include "quantization/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline quantization {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000;
constexpr std::size_t kSide = ValueHistogram::kSideBins;
constexpr std::size_t kZero = 2 * kSide;  // where zeros are counted on the way
constexpr std::size_t kBlock = 1024;

struct Extremes {
  std::uint32_t magnitude = 0;  // the bits of the largest |x|
  float low = 0;
  float high = 0;
};

// Comparisons of bits, which a compiler may reorder: floats as integers in the same order.
Extremes extremes_of(std::span<const float> values) {
  std::uint32_t magnitude = 0;
  std::int32_t low = INT32_MAX;
  std::int32_t high = INT32_MIN;
  for (const float x : values) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    const std::int32_t key = bits ^ ((bits >> 31) & INT32_MAX);
    magnitude = std::max(magnitude, static_cast<std::uint32_t>(bits & INT32_MAX));
    low = std::min(low, key);
    high = std::max(high, key);
  }
  const auto value_of = [](std::int32_t key) {
    return std::bit_cast<float>(key ^ ((key >> 31) & INT32_MAX));
  };
  return {magnitude, value_of(low), value_of(high)};
}

// The smallest e with |x| < 2^e.
int exponent_over(float magnitude) {
  int exponent = ValueHistogram::kLeastExponent;
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  return std::max(exponent, ValueHistogram::kLeastExponent);
}

}  // namespace

ValueHistogram::ValueHistogram() : bins_(2 * kSide) {}

double ValueHistogram::bin_width() const {
  return std::ldexp(1.0, exponent_) / static_cast<double>(kSide);
}

// k·w ≤ |x| < (k + 1)·w gives bin ⌊k / 2⌋ of width 2·w.
void ValueHistogram::cover(int exponent) {
  if (exponent <= exponent_) return;
  const int doublings = std::min(exponent - exponent_, 31);
  exponent_ = exponent;
  for (std::size_t k = 1; k < kSide; ++k) {
    for (const std::size_t sign : {std::size_t{0}, std::size_t{1}}) {
      const auto at = [&](std::size_t bin) { return sign == 0 ? kSide + bin : kSide - 1 - bin; };
      const std::int64_t moved = std::exchange(bins_[at(k)], 0);
      bins_[at(k >> doublings)] += moved;
    }
  }
}

void ValueHistogram::widen(float low, float high) {
  min_ = count_ == 0 ? low : std::min(min_, low);
  max_ = count_ == 0 ? high : std::max(max_, high);
}

void ValueHistogram::add_finite(std::span<const float> values) {
  const Extremes extremes = extremes_of(values);
  cover(exponent_over(std::bit_cast<float>(extremes.magnitude)));
  // -0.0 is 0.
  widen(extremes.low + 0.0F, extremes.high + 0.0F);
  const auto per_width = static_cast<float>(1 / bin_width());
  // Two tables, so that equal neighbours do not wait for each other's store.
  std::array<std::vector<std::int64_t>, 2> tables;
  tables.fill(std::vector<std::int64_t>(2 * kSide + 1));
  std::array<std::int32_t, kBlock> index;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    for (std::size_t i = 0; i < block.size(); ++i) {
      const float x = block[i];
      const auto k = static_cast<std::int32_t>(std::abs(x) * per_width);
      const std::int32_t bin =
          x < 0 ? static_cast<std::int32_t>(kSide) - 1 - k : static_cast<std::int32_t>(kSide) + k;
      index[i] = x == 0 ? static_cast<std::int32_t>(kZero) : bin;
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      ++tables[i % 2][static_cast<std::size_t>(index[i])];
    }
  }
  for (const auto& table : tables) {
    for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += table[i];
    zeros_ += table[kZero];
  }
  count_ += static_cast<std::int64_t>(values.size());
}

void ValueHistogram::add(std::span<const float> values) {
  if (values.empty()) return;
  if (extremes_of(values).magnitude < kInfinityBits) {
    add_finite(values);
    return;
  }
  std::vector<float> finite;
  for (const float x : values) {
    if (std::isnan(x)) {
      ++nans_;
    } else if (std::isinf(x)) {
      ++infinities_;
    } else {
      finite.push_back(x);
    }
  }
  if (!finite.empty()) add_finite(finite);
}

void ValueHistogram::merge(const ValueHistogram& other) {
  nans_ += other.nans_;
  infinities_ += other.infinities_;
  if (other.count_ == 0) return;
  cover(other.exponent_);
  ValueHistogram same = other;
  same.cover(exponent_);
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += same.bins_[i];
  widen(other.min_, other.max_);
  zeros_ += other.zeros_;
  count_ += other.count_;
}

std::vector<ValueBin> ValueHistogram::occupied() const {
  const double width = bin_width();
  std::vector<ValueBin> list;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (i == kSide && zeros_ > 0) list.push_back({0, 0, zeros_});
    if (bins_[i] == 0) continue;
    const double low = (static_cast<double>(i) - static_cast<double>(kSide)) * width;
    list.push_back({std::max(low, static_cast<double>(min_)),
                    std::min(low + width, static_cast<double>(max_)), bins_[i]});
  }
  return list;
}

ValueHistogram ValueHistogram::magnitudes() const {
  ValueHistogram result = *this;
  for (std::size_t k = 0; k < kSide; ++k) {
    result.bins_[kSide + k] += std::exchange(result.bins_[kSide - 1 - k], 0);
  }
  result.min_ = 0;
  result.max_ = std::max(std::abs(min_), std::abs(max_));
  return result;
}

ValueHistogram histogram_of(std::span<const float> values) {
  constexpr std::size_t kLeastPart = std::size_t{1} << 16;
  const std::size_t parts = std::clamp<std::size_t>(values.size() / kLeastPart, 1,
                                                    static_cast<std::size_t>(thread_count()));
  const std::size_t size = (values.size() + parts - 1) / parts;
  std::vector<ValueHistogram> histograms(parts);
  parallel_tasks(parts, [&](std::size_t part) {
    const std::size_t begin = std::min(part * size, values.size());
    histograms[part].add(values.subspan(begin, std::min(size, values.size() - begin)));
  });
  for (std::size_t part = 1; part < parts; ++part) histograms[0].merge(histograms[part]);
  return std::move(histograms[0]);
}

double quantile(const ValueHistogram& histogram, double share) {
  double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(histogram.count());
  for (const ValueBin& bin : histogram.occupied()) {
    const auto count = static_cast<double>(bin.count);
    if (rank <= count) return bin.low + (bin.high - bin.low) * (rank / count);
    rank -= count;
  }
  return static_cast<double>(histogram.max());
}

void check_finite(const ValueHistogram& histogram, std::string_view layer) {
  if (histogram.nans() == 0 && histogram.infinities() == 0) return;
  throw Error("calibrate", fmt::format("values of layer '{}'", layer),
              fmt::format("{} NaN and {} infinite beside {} finite", histogram.nans(),
                          histogram.infinities(), histogram.count()),
              "finite numbers", ErrorKind::input);
}

}  // namespace nibble::inline quantization
