// SPDX-License-Identifier: Apache-2.0
// The mean of int8 weights over the last part of a run.
#include "integer_training/integer_averager.h"

#include <algorithm>
#include <bit>
#include <string>

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kMostSamples = 4096;

}  // namespace

void IntegerAverager::see(const RunPosition& position, std::int64_t from,
                          std::span<TrainedTensor* const> parameters) {
  const std::int64_t begin = (from - 1) * position.steps_per_epoch;
  const std::int64_t window = position.epochs * position.steps_per_epoch - begin;
  const std::int64_t step = position.step - begin;  // from 0
  if (step < 0 || step >= window) return;
  const auto samples = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::min(window, kMostSamples))));
  if ((step + 1) * samples / window == step * samples / window) return;
  if (sums_.empty()) {
    for (const TrainedTensor* each : parameters) {
      sums_.emplace_back(DType::i32, each->shape());
      std::ranges::fill(sums_.back().as<std::int32_t>(), 0);
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto mantissas = parameters[i]->mantissas();
    const auto sums = sums_[i].as<std::int32_t>();
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += mantissas[k];
  }
  ++count_;
}

std::vector<std::int8_t> IntegerAverager::mean(std::size_t parameter) const {
  std::vector<std::int8_t> mean;
  for (const std::int64_t sum : sums_[parameter].as<std::int32_t>()) {
    const std::int64_t magnitude = ((sum < 0 ? -sum : sum) + count_ / 2) / count_;
    mean.push_back(static_cast<std::int8_t>(sum < 0 ? -magnitude : magnitude));
  }
  return mean;
}

std::vector<NamedTensorView> IntegerAverager::state() const {
  std::vector<NamedTensorView> list;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    list.push_back({"average." + std::to_string(i), sums_[i].view()});
  return list;
}

void IntegerAverager::set_state(const Checkpoint& checkpoint, std::int64_t count,
                                std::span<TrainedTensor* const> parameters) {
  count_ = count;
  sums_.clear();
  for (std::size_t i = 0; count > 0 && i < parameters.size(); ++i) {
    const Shape& shape = parameters[i]->shape();
    const Tensor& from = checkpoint.tensor("average." + std::to_string(i), DType::i32, shape);
    sums_.emplace_back(DType::i32, shape);
    std::ranges::copy(from.as<std::int32_t>(), sums_.back().as<std::int32_t>().begin());
  }
}

}  // namespace nibble::inline integer_training
