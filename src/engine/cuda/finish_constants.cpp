// SPDX-License-Identifier: Apache-2.0
// Brings finish laws to a GPU.
#include "engine/cuda/finish_constants.h"

namespace nibble::inline engine {

std::vector<std::int32_t> by_channel(const std::vector<std::int64_t>& list,
                                     const DevicePlace& place) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(place.filled_channels()));
  for (std::size_t c = 0; c < static_cast<std::size_t>(place.picture.channels); ++c)
    numbers[c] = static_cast<std::int32_t>(list[list.size() == 1 ? 0 : c]);
  return numbers;
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
          .has_words = out.has_words ? 1U : 0U,
          .out_borders = out.has_border ? 1U : 0U,
          .addend_borders = has_addend_ && addend->has_border ? 1U : 0U,
          .pixels = Divisor::of(static_cast<std::uint32_t>(out.picture.pixels()))};
}

cuda::SumFinish DeviceFinish::in(std::int8_t* arena) const {
  cuda::SumFinish law = law_;
  law.out = arena + out_;
  if (has_addend_) law.addend = arena + addend_;
  return law;
}

}  // namespace nibble::inline engine
