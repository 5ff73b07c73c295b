// SPDX-License-Identifier: Apache-2.0
// Brings finish laws to a GPU.
#include "engine/cuda/finish_constants.h"

#include <algorithm>

namespace nibble::inline engine {

std::vector<std::int32_t> by_channel(const std::vector<std::int64_t>& list,
                                     const DevicePlace& place) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(place.filled_channels()));
  for (std::size_t c = 0; c < static_cast<std::size_t>(place.picture.channels); ++c)
    numbers[c] = static_cast<std::int32_t>(list[list.size() == 1 ? 0 : c]);
  return numbers;
}

namespace {

constexpr int kHalfWord = 16;
constexpr std::int32_t kFarResult = INT16_MAX - 256;

bool are_within(const std::vector<std::int64_t>& list, std::int64_t low, std::int64_t high) {
  return std::ranges::all_of(list, [&](std::int64_t each) { return each >= low && each <= high; });
}

// Whether the upper half of a word is enough for results and, on the way to them, for a base.
bool fits_half(const FinishLaw& law) {
  constexpr std::int64_t kMost = INT32_MAX - (std::int64_t{1} << 25);
  if (law.is_wide || law.shift < 1 || law.shift > kHalfWord) return false;
  const std::int64_t most = kMost >> (kHalfWord - law.shift);
  return law.product.is_within(-most, most);
}
// The same of results that come out of 64 bits.
bool fits_wide(const FinishLaw& law) {
  constexpr std::int64_t kMostResult = kFarResult - 256;
  if (law.shift <= 32 || law.shift > 54) return false;
  const std::int64_t most = law.shift < 47 ? kMostResult << law.shift : (std::int64_t{1} << 62) - 1;
  return law.product.is_within(-most, most) && law.sum.is_within(-INT32_MAX, INT32_MAX) &&
         are_within(law.multiplier, 0, INT32_MAX);
}

// Four columns after another.
std::vector<std::int32_t> packed_law(cuda::FinishForm form, const FinishLaw& law,
                                     const std::vector<std::int64_t>& bias,
                                     const DevicePlace& out) {
  const std::vector<std::int32_t> multipliers = by_channel(law.multiplier, out);
  const std::vector<std::int32_t> biases = by_channel(bias, out);
  const std::vector<std::int32_t> factors = by_channel(law.addend_multiplier, out);
  std::vector<std::int32_t> packed(3 * multipliers.size());
  for (std::size_t c = 0; c < multipliers.size(); ++c) {
    std::int32_t* own = packed.data() + c / 4 * 12 + c % 4;
    if (form == cuda::FinishForm::wide) {
      own[0] = multipliers[c];
      own[4] = biases[c];
      own[8] = factors[c];
      continue;
    }
    const std::uint32_t scale = static_cast<std::uint32_t>(multipliers[c])
                                << (kHalfWord - law.shift);
    const std::uint32_t half = form == cuda::FinishForm::half_relu ? 1U << (kHalfWord - 1) : 0U;
    own[0] = static_cast<std::int32_t>(scale);
    own[4] = static_cast<std::int32_t>(static_cast<std::uint32_t>(biases[c]) * scale + half);
    own[8] = static_cast<std::int32_t>(static_cast<std::uint32_t>(factors[c])
                                       << (c % 2 == 0 ? 0 : kHalfWord));
  }
  return packed;
}

}  // namespace

cuda::FinishForm form_of(const FinishLaw& law, const DevicePlace& out, const DevicePlace* addend) {
  using enum cuda::FinishForm;
  constexpr int kMostAddendShift = 30;
  if (out.has_words || law.has_wide_sums || law.addend_shift > kMostAddendShift ||
      (addend != nullptr && addend->base != 0))
    return none;
  if (fits_wide(law) && are_within(law.addend_multiplier, 0, INT32_MAX)) return wide;
  if (!fits_half(law) || !are_within(law.addend_multiplier, 0, UINT16_MAX)) return none;
  const bool has_plain_addend = addend == nullptr || law.addend_low >= 0 || law.addend_shift == 0;
  const bool is_relu = law.low == 0 && law.high <= 255 && (out.base == 0 || out.base == 128);
  return is_relu && has_plain_addend ? half_relu : half;
}

DeviceFinish::DeviceFinish(const FinishLaw& law, const std::vector<std::int64_t>& bias,
                           const DevicePlace& out, const DevicePlace* addend,
                           DeviceConstants& constants)
    : out_(out.offset),
      addend_(addend == nullptr ? 0 : addend->offset),
      has_addend_(addend != nullptr) {
  law_ = {.bias = constants.keep(by_channel(bias, out)),
          .multiplier = constants.keep(by_channel(law.multiplier, out)),
          .addend_multiplier =
              has_addend_ ? constants.keep(by_channel(law.addend_multiplier, out)) : nullptr,
          .packed = nullptr,
          .addend = nullptr,
          .out = nullptr,
          .pitch = static_cast<std::uint32_t>(out.filled_channels()),
          .addend_base = has_addend_ ? addend->base : 0,
          .out_base = out.base,
          .low = static_cast<std::int32_t>(law.low),
          .high = static_cast<std::int32_t>(law.high),
          .shift = law.shift,
          .addend_shift = law.addend_shift,
          .is_wide = law.is_wide || law.shift == 0 ? 1U : 0U,
          .form = form_of(law, out, addend),
          .has_words = out.has_words ? 1U : 0U,
          .out_borders = out.has_border ? 1U : 0U,
          .addend_borders = has_addend_ && addend->has_border ? 1U : 0U,
          .pixels = Divisor::of(static_cast<std::uint32_t>(out.picture.pixels())),
          .unused = 0,
          .outside = {}};
  if (law_.form == cuda::FinishForm::none) return;
  // Results are far from these before they are clamped.
  law_.low = std::max(law_.low, -kFarResult);
  law_.high = std::min(law_.high, kFarResult);
  law_.packed = constants.keep(packed_law(law_.form, law, bias, out));
}

cuda::SumFinish DeviceFinish::in(std::int8_t* arena) const {
  cuda::SumFinish law = law_;
  law.out = arena + out_;
  if (has_addend_) law.addend = arena + addend_;
  return law;
}

}  // namespace nibble::inline engine
