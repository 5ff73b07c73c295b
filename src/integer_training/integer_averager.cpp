// SPDX-License-Identifier: Apache-2.0
// The mean of weights over the last part of a run.
#include "integer_training/integer_averager.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "laws/batch_norm.h"
#include "laws/integer_laws.h"
#include "laws/round_shift.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kMostSamples = 4096;
constexpr int kSpareBits = 8;  // of the shared unit below that of the first sample
constexpr int kMostLift = 24;  // |f| < 2^23, lifted 24 places, 2^12 times: below 2^60

std::string name_of_sums(std::size_t i) {
  return "average." + std::to_string(i);
}
std::string name_of_exponent(std::size_t i) {
  return "average.exponent." + std::to_string(i);
}

// sum / divisor, halves away from zero.
std::int64_t quotient(std::int64_t sum, std::int64_t divisor) {
  const std::int64_t magnitude = ((sum < 0 ? -sum : sum) + divisor / 2) / divisor;
  return sum < 0 ? -magnitude : magnitude;
}

// A fine number in the unit of the sums, which may be above its own.
std::int64_t in_unit(std::int64_t fine, int lift) {
  return lift < 0 ? shift_nearest(fine, std::min(-lift, 62))
                  : fine * (std::int64_t{1} << std::min(lift, kMostLift));
}

}  // namespace

int IntegerAverager::fraction_bits_of(NormPart norm) const {
  return norm == NormPart::none ? std::get<SgdUpdate>(rule_).fraction_bits : kNormFractionBits;
}

IntegerAverager::Total IntegerAverager::empty_total(const TrainedTensor& tensor) const {
  Total total{.sums = Tensor(sums_mantissas() ? DType::i32 : DType::i64, tensor.shape()),
              .mantissas = sums_mantissas() ? tensor.totals() : nullptr,
              .exponent = tensor.exponent(),
              .is_bias = tensor.is_bias(),
              .norm = tensor.norm()};
  if (!sums_mantissas()) {
    total.exponent -= fraction_bits_of(tensor.norm()) + kSpareBits;
    std::ranges::fill(total.sums.as<std::int64_t>(), 0);
  }
  return total;
}

void IntegerAverager::add(Total& total, const TrainedTensor& tensor) const {
  if (sums_mantissas()) return tensor.add_to(*total.mantissas);
  const WeightsState state = tensor.read();
  const int lift = state.exponent - fraction_bits_of(tensor.norm()) - total.exponent;
  const auto sums = total.sums.as<std::int64_t>();
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += in_unit(state.fine[k], lift);
}

void IntegerAverager::see(const RunPosition& position, std::int64_t from,
                          std::span<TrainedTensor* const> parameters) {
  const std::int64_t begin = (from - 1) * position.steps_per_epoch;
  const std::int64_t window = position.epochs * position.steps_per_epoch - begin;
  const std::int64_t step = position.step - begin;  // from 0
  if (step < 0 || step >= window) return;
  const auto samples = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::min(window, kMostSamples))));
  if ((step + 1) * samples / window == step * samples / window) return;
  if (totals_.empty()) {
    for (const TrainedTensor* each : parameters) totals_.push_back(empty_total(*each));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) add(totals_[i], *parameters[i]);
  ++count_;
}

const Tensor& IntegerAverager::sums_of(std::size_t parameter) const {
  Total& total = totals_[parameter];
  if (total.mantissas) total.mantissas->read(total.sums.as<std::int32_t>());
  return total.sums;
}

WeightsState IntegerAverager::mean(std::size_t parameter) const {
  const Total& total = totals_[parameter];
  WeightsState state{.mantissas = Tensor(DType::i8, total.sums.shape()),
                     .exponent = total.exponent};
  const auto mantissas = state.mantissas.as<std::int8_t>();
  if (sums_mantissas()) {
    std::ranges::transform(sums_of(parameter).as<std::int32_t>(), mantissas.begin(),
                           [&](std::int32_t sum) { return clamp127(quotient(sum, count_)); });
    return state;
  }
  const auto sums = total.sums.as<std::int64_t>();
  if (total.norm != NormPart::none) {
    for (const std::int64_t sum : sums) {
      const auto fine = static_cast<std::int32_t>(quotient(sum, count_ << kSpareBits));
      state.fine.push_back(total.norm == NormPart::scale ? held_norm_scale(fine, fine) : fine);
    }
    return state;
  }
  std::uint64_t largest = 0;
  for (const std::int64_t sum : sums) largest = std::max(largest, magnitude_of(sum));
  const int bits = fraction_bits_of(total.norm);
  const int wanted = bits_of(largest / static_cast<std::uint64_t>(count_)) - 7;
  const int shift = total.is_bias ? bits + kSpareBits : std::max(wanted, bits);
  state.exponent += shift;
  std::ranges::transform(sums, mantissas.begin(), [&](std::int64_t sum) {
    return clamp127(quotient(sum, count_ * (std::int64_t{1} << shift)));
  });
  return state;
}

void IntegerAverager::put_state(Words& words, std::vector<NamedTensorView>& tensors) const {
  put_integer(words, "average.count", count_);
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (!sums_mantissas()) put_integer(words, name_of_exponent(i), totals_[i].exponent);
    tensors.push_back({name_of_sums(i), sums_of(i).view()});
  }
}

void IntegerAverager::take_state(const Checkpoint& checkpoint,
                                 std::span<TrainedTensor* const> parameters) {
  Saved saved{
      .count = integer_word(checkpoint.words, "average.count"), .sums = {}, .exponents = {}};
  for (std::size_t i = 0; saved.count > 0 && i < parameters.size(); ++i) {
    const DType type = sums_mantissas() ? DType::i32 : DType::i64;
    saved.sums.push_back(
        copy_of(checkpoint.tensor(name_of_sums(i), type, parameters[i]->shape()).view()));
    saved.exponents.push_back(
        sums_mantissas() ? parameters[i]->exponent()
                         : static_cast<int>(integer_word(checkpoint.words, name_of_exponent(i))));
  }
  restore(saved, parameters);
}

IntegerAverager::Saved IntegerAverager::save() const {
  Saved saved{.count = count_, .sums = {}, .exponents = {}};
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    saved.sums.push_back(copy_of(sums_of(i).view()));
    saved.exponents.push_back(totals_[i].exponent);
  }
  return saved;
}

void IntegerAverager::restore(const Saved& saved, std::span<TrainedTensor* const> parameters) {
  count_ = saved.count;
  totals_.clear();
  for (std::size_t i = 0; i < saved.sums.size(); ++i) {
    Total total = empty_total(*parameters[i]);
    total.exponent = saved.exponents[i];
    total.sums = copy_of(saved.sums[i].view());
    if (total.mantissas) total.mantissas->write(total.sums.as<std::int32_t>());
    totals_.push_back(std::move(total));
  }
}

}  // namespace nibble::inline integer_training
