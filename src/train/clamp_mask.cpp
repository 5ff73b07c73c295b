// SPDX-License-Identifier: Apache-2.0
// Where rounding cut a value to the range of its format.
#include "train/clamp_mask.h"

#include <cstddef>

#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble {
namespace {

constexpr std::size_t kMaskedAtOnce = 32768;

}  // namespace

std::vector<std::uint8_t> clamp_mask(ConstTensorView values, const Format& format) {
  if (format.scaling.kind != ScaleKind::none) {
    throw Error("policy", "clamped = \"zero\"", to_string(format),
                "a format with a range of its own");
  }
  const ElementInfo info = describe(format.element);
  const auto x = values.as<float>();
  std::vector<std::uint8_t> mask(x.size());
  parallel_for(x.size(), kMaskedAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(x[i]);
      mask[i] = static_cast<std::uint8_t>(value > info.max || value < info.lowest);
    }
  });
  return mask;
}

void zero_where(const std::vector<std::uint8_t>& mask, TensorView values) {
  const auto x = values.as<float>();
  parallel_for(x.size(), kMaskedAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (mask[i] != 0) x[i] = 0.0F;
    }
  });
}

}  // namespace nibble
