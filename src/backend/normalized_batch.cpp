// SPDX-License-Identifier: Apache-2.0
// A batch norm between its loops over numbers.
#include "backend/normalized_batch.h"

#include <algorithm>

namespace nibble::inline backend {
namespace {

constexpr std::int64_t kNoValue = -32768;  // below every value and every negated one

// The shift of every channel to the exponent that all of them fit.
int share_exponent(std::span<const std::int64_t> largest, std::span<const int> exponents,
                   std::vector<std::int32_t>& shifts) {
  int shared = norm_wanted_exponent(largest[0], exponents[0]);
  for (std::size_t c = 1; c < largest.size(); ++c)
    shared = std::max(shared, norm_wanted_exponent(largest[c], exponents[c]));
  shifts.clear();
  for (const int each : exponents) shifts.push_back(norm_shift(shared, each));
  return shared;
}

// One meeting for two lists.
template <class Meet>
void meet_as_one(std::vector<std::int64_t>& first, std::vector<std::int64_t>& second,
                 const Meet& meet) {
  const std::size_t size = first.size();
  first.insert(first.end(), second.begin(), second.end());
  meet(std::span(first));
  second.assign(first.begin() + static_cast<std::ptrdiff_t>(size), first.end());
  first.resize(size);
}

}  // namespace

ChannelSums::ChannelSums(std::size_t channels)
    : values(channels),
      squares(channels),
      negated_least(channels, kNoValue),
      most(channels, kNoValue) {}

std::vector<int> norm_exponents(int exponent, std::size_t channels,
                                std::span<const std::int8_t> product) {
  if (product.empty()) return std::vector<int>(channels, exponent);
  std::vector<int> exponents = norm_sum_shifts(product, channels);
  for (int& each : exponents) each += exponent;
  return exponents;
}

const NormalizedBatch::Lines& NormalizedBatch::forward(ChannelSums sums, const StepContext& step,
                                                       std::vector<int> exponents,
                                                       std::span<const std::int32_t> scale,
                                                       std::span<const std::int32_t> shift) {
  if (Communicator* cluster = step.cluster; cluster != nullptr) {
    meet_as_one(sums.values, sums.squares, [&](auto both) { cluster->sum(both); });
    meet_as_one(sums.negated_least, sums.most, [&](auto both) { cluster->max(both); });
  }
  count_ = step.all_images * pixels_;
  exponents_ = std::move(exponents);
  sums_.clear();
  statistics_.clear();
  line_list_.clear();
  lines_ = {};
  std::vector<std::int64_t> largest;
  std::vector<int> line_exponents;
  for (std::size_t c = 0; c < exponents_.size(); ++c) {
    const NormSums& own =
        sums_.emplace_back(NormSums{.values = sums.values[c],
                                    .squares = sums.squares[c],
                                    .least = static_cast<std::int32_t>(-sums.negated_least[c]),
                                    .most = static_cast<std::int32_t>(sums.most[c])});
    const NormMoments moments = norm_moments(own, count_, exponents_[c]);
    statistics_.push_back(norm_statistics(moments));
    if (step.is_training && running_share_ > 0) keep(c, moments);
    const NormLine& line =
        line_list_.emplace_back(norm_line(statistics_.back(), {scale[c], shift[c]}));
    largest.push_back(line.largest(own.least, own.most));
    line_exponents.push_back(line.exponent);
    lines_.multiplier.push_back(static_cast<std::int32_t>(line.multiplier));
    lines_.addend.push_back(line.addend);
  }
  lines_.exponent = share_exponent(largest, line_exponents, lines_.shift);
  return lines_;
}

void NormalizedBatch::keep(std::size_t channel, const NormMoments& moments) {
  if (channel == running_.size()) return running_.push_back(moments);  // the first batch
  running_[channel] = running_moments(running_[channel], moments, running_share_);
}

const NormalizedBatch::Planes& NormalizedBatch::backward(ChannelErrorSums errors,
                                                         int error_exponent, Communicator* cluster,
                                                         Sums& scale, Sums& shift) {
  if (cluster != nullptr)
    meet_as_one(errors.errors, errors.products, [&](auto both) { cluster->sum(both); });
  planes_ = {};
  plane_exponents_.clear();
  std::vector<std::int64_t> scale_gradient;
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    const NormErrorSums own{errors.errors[c], errors.products[c]};
    scale_gradient.push_back(norm_scale_gradient(sums_[c], own, statistics_[c], count_));
    const NormErrorPlane plane =
        norm_error_plane(sums_[c], own, statistics_[c], line_list_[c], count_, exponents_[c]);
    planes_.error.push_back(static_cast<std::int32_t>(plane.error));
    planes_.value.push_back(static_cast<std::int32_t>(plane.value));
    planes_.addend.push_back(plane.addend);
    plane_exponents_.push_back(plane.exponent + error_exponent);
  }
  scale.write(scale_gradient, error_exponent);
  shift.write(errors.errors, error_exponent);
  return planes_;
}

const NormalizedBatch::Planes& NormalizedBatch::bound(std::vector<std::int64_t> largest,
                                                      Communicator* cluster) {
  if (cluster != nullptr) cluster->max(largest);
  planes_.exponent = share_exponent(largest, plane_exponents_, planes_.shift);
  return planes_;
}

NormalizationRecord NormalizedBatch::record() const {
  NormalizationRecord record;
  for (const NormStatistics& each : statistics_) {
    record.means.push_back(each.mean);
    record.variances.push_back(each.variance);
  }
  return record;
}

}  // namespace nibble::inline backend
