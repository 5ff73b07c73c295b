// SPDX-License-Identifier: Apache-2.0
// Inputs for tests: random bit patterns, moderate values, values of the format, ties, specials.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "nibble/core/philox.h"
#include "nibble/numerics/format.h"

namespace nibble::inline kernels {

inline std::vector<float> mixed_inputs(std::size_t count, const Format& format) {
  const ElementInfo info = describe(format.element);
  const float specials[] = {0.0F,
                            -0.0F,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::lowest(),
                            std::numeric_limits<float>::min(),
                            std::numeric_limits<float>::denorm_min(),
                            -std::numeric_limits<float>::denorm_min(),
                            static_cast<float>(info.max),
                            static_cast<float>(info.lowest),
                            static_cast<float>(info.min_positive),
                            static_cast<float>(-info.min_positive / 2)};
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RandomKey key{.seed = 11, .stream = 5};
    const std::uint32_t word = draw32(key, 4 * i);
    const std::uint32_t other = draw32(key, 4 * i + 1);
    const float unit = static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31F;
    float x = 0;
    switch (other % 8) {
      case 0:
        x = std::bit_cast<float>(word);  // any pattern
        break;
      case 1:
      case 2:  // the format's own range
        x = unit * static_cast<float>(std::fmin(info.max, 0x1p100));
        break;
      case 3:  // near its smallest values
        x = unit * 8 * static_cast<float>(std::fmax(info.min_positive, 0x1p-140));
        break;
      case 4: {  // an element, or the middle of two, within one ulp
        const int bits = info.code_bits < 32 ? info.code_bits : 31;
        const std::uint32_t code = word & ((1U << bits) - 1);
        const auto* table = std::get_if<CodebookElement>(&format.element);
        const auto entries =
            table != nullptr ? static_cast<std::uint32_t>(table->values.size()) : 0;
        const std::uint32_t last = table != nullptr ? entries - 1 : (1U << bits) - 1;
        const double a = decode_code(format.element, table != nullptr ? code % entries : code);
        const double b = decode_code(
            format.element, std::min(table != nullptr ? code % entries + 1 : code + 1, last));
        x = static_cast<float>(other & 8U ? a : (a + b) / 2);
        if (other & 16U) x = std::nextafter(x, other & 32U ? 1e38F : -1e38F);
        break;
      }
      case 5:
        x = specials[other / 8 % std::size(specials)];
        break;
      default:
        x = unit * 4;
        break;
    }
    values[i] = x;
  }
  return values;
}

}  // namespace nibble::inline kernels
