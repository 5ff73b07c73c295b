// SPDX-License-Identifier: Apache-2.0
// Integer training by its definitions: memory, shifts, losses.
#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <array>

#include "backend/loss_laws.h"
#include "laws/integer_laws.h"
#include "laws/round_shift.h"

namespace nibble::inline backend {
namespace {

std::size_t size_of_batch(const Picture& picture, std::int64_t images) {
  return static_cast<std::size_t>(images * picture.elements());
}

}  // namespace

ReferenceWeights::ReferenceWeights(const WeightsCase& weights)
    : of(weights),
      state{.mantissas = Tensor(DType::i8, weights.shape), .exponent = weights.exponent} {
  std::ranges::fill(state.mantissas.as<std::int8_t>(), std::int8_t{0});
}

void ReferenceWeights::write(const WeightsState& from) {
  state = {copy_of(from.mantissas.view()), from.exponent, from.fine, from.momentum};
}

WeightsState ReferenceWeights::read() const {
  return {copy_of(state.mantissas.view()), state.exponent, state.fine, state.momentum};
}

void ReferenceWeights::read_mantissas(std::span<std::int8_t> mantissas) const {
  std::ranges::copy(state.mantissas.as<std::int8_t>(), mantissas.begin());
}

int ReferenceSums::read(std::span<std::int64_t> sums) {
  std::ranges::copy(data, sums.begin());
  return exponent;
}

void ReferenceSums::write(std::span<const std::int64_t> sums, int given) {
  data.assign(sums.begin(), sums.end());
  exponent = given;
}

MemoryHandle ReferenceBackend::take(const Picture& picture, std::int64_t images,
                                    ValueStorage storage) {
  return MemoryHandle(std::make_shared<ReferenceMemory>(size_of_batch(picture, images),
                                                        storage == ValueStorage::s16));
}

Slot ReferenceBackend::new_slot() {
  table_.exponents.push_back(0);
  return {static_cast<std::int32_t>(table_.exponents.size()) - 1};
}

ShiftPoint ReferenceBackend::new_point(const ShiftPointCase& point) {
  cases_.push_back(point);
  table_.points.emplace_back();
  return {static_cast<std::int32_t>(cases_.size()) - 1};
}

std::unique_ptr<Weights> ReferenceBackend::weights(const WeightsCase& weights) {
  return std::make_unique<ReferenceWeights>(weights);
}

std::unique_ptr<Sums> ReferenceBackend::sums(const WeightsCase& weights) {
  return std::make_unique<ReferenceSums>(static_cast<std::size_t>(weights.shape.elements()));
}

void ReferenceBackend::set_exponent(const Values& values, int exponent) {
  if (values.exponent.place >= 0)
    table_.exponents[static_cast<std::size_t>(values.exponent.place)] = exponent;
}

void ReferenceBackend::set_point(ShiftPoint point, const PointState& state) {
  table_.points[static_cast<std::size_t>(point.place)] = state;
}

void ReferenceBackend::load(std::span<const std::int8_t> mantissas, int exponent,
                            const Values& to) {
  std::ranges::copy(mantissas, data(to).begin());
  set_exponent(to, exponent);
}

void ReferenceBackend::load_bytes(std::span<const std::uint8_t> bytes,
                                  std::span<const std::int8_t> tables, int exponent,
                                  const Values& to) {
  const std::size_t channels = tables.size() / 256;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    data(to)[i] = tables[i % channels * 256 + bytes[i]];
  set_exponent(to, exponent);
}

void ReferenceBackend::store(const Values& from, std::span<std::int8_t> mantissas) {
  std::copy_n(data(from).begin(), mantissas.size(), mantissas.begin());
}

void ReferenceBackend::store_sums(const Values& from, std::span<std::int16_t> sums) {
  std::ranges::copy(sums_of(from), sums.begin());
}

void ReferenceBackend::round(ShiftPoint point, std::span<const std::int64_t> sums, int exponent,
                             const Values& to) {
  PointState& state = table_.points[static_cast<std::size_t>(point.place)];
  std::array<std::int64_t, 1> largest{largest_of(sums)};
  if (step_.cluster != nullptr) step_.cluster->max(largest);
  const int wanted = std::max(bits_in(largest[0]) - 7, 0);
  const bool is_known = state.shift != PointState::kUnknown;
  const bool is_given =
      step_.rule == ShiftRule::frozen || (step_.rule == ShiftRule::delayed && is_known);
  const int shift = is_given ? std::max(state.shift, 0) : wanted;
  if (step_.rule != ShiftRule::frozen) {
    if (wanted != state.shift) state.other = state.shift;
    state.shift = wanted;
  }
  round_channels(point, sums, {&shift, 1}, to);
  set_exponent(to, exponent + shift);
}

void ReferenceBackend::round_channels(ShiftPoint point, std::span<const std::int64_t> sums,
                                      std::span<const int> shifts, const Values& to) {
  const ShiftPointCase& rounding = cases_[static_cast<std::size_t>(point.place)];
  PointState& state = table_.points[static_cast<std::size_t>(point.place)];
  ++state.batches;
  state.elements = static_cast<std::int64_t>(sums.size());
  state.saturated = 0;
  RandomKey random = step_.random;
  random.stream = rounding.stream;
  const std::int64_t first = step_.first_image * to.picture.elements();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::uint32_t draw = draw32(random, static_cast<std::uint64_t>(first) + i);
    const std::int64_t rounded =
        round_shift(rounding.rounding, sums[i], shifts[i % shifts.size()], draw);
    data(to)[i] = clamp127(rounded);
    state.saturated += rounded > 127 || rounded < -127 ? 1 : 0;
  }
}

void ReferenceBackend::bias_gradient(const Values& error, Sums& sums) {
  auto& own = static_cast<ReferenceSums&>(sums);
  std::vector<std::int64_t>& totals = own.data;
  own.exponent = exponent(error);
  std::ranges::fill(totals, 0);
  for (std::size_t i = 0; i < data(error).size(); ++i) totals[i % totals.size()] += data(error)[i];
}

void ReferenceBackend::loss(const LossCase& loss, const Values& answers, const Values& error) {
  const std::span<const std::int8_t> given = data(answers);
  const auto classes = static_cast<std::size_t>(answers.picture.channels);
  if (const auto* squared = std::get_if<SquaredLoss>(&loss)) {
    const SquaredScale scale = squared_scale(exponent(answers));
    std::vector<std::int64_t> sums;
    for (std::size_t i = 0; i < given.size(); ++i) {
      sums.push_back(given[i] * (std::int64_t{1} << scale.answer_lift) -
                     squared->targets[i] * (std::int64_t{1} << scale.target_lift));
    }
    return round(squared->point, sums, scale.exponent, error);
  }
  const auto& entropy = std::get<CrossEntropyLoss>(loss);
  RandomKey random = step_.random;
  random.stream = entropy.stream;
  std::vector<std::int64_t> differences(classes);
  for (std::size_t image = 0; image * classes < given.size(); ++image) {
    cross_entropy_differences(given.subspan(image * classes, classes), exponent(answers),
                              entropy.labels[image], entropy.rule, differences);
    for (std::size_t c = 0; c < classes; ++c) {
      const std::uint64_t element =
          (static_cast<std::uint64_t>(step_.first_image) + image) * classes + c;
      data(error)[image * classes + c] =
          clamp127(shift_stochastic(differences[c], kCrossEntropyShift, draw32(random, element)));
    }
  }
  set_exponent(error, kCrossEntropyExponent);
}

void ReferenceBackend::reduce(Sums& sums) {
  if (step_.cluster != nullptr) step_.cluster->sum(static_cast<ReferenceSums&>(sums).data);
}

}  // namespace nibble::inline backend
