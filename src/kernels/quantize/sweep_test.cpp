// SPDX-License-Identifier: Apache-2.0
// A stride over all 2^32 fp32 inputs, under every rounding; sweep_full tries them all.
#include "kernels/quantize/test_sweep.h"

#include <gtest/gtest.h>

#include "kernels/quantize/test_formats.h"

namespace nibble::inline kernels {
namespace {

TEST(StridedSweep, EqualsTheDefinitionUnderEveryRounding) {
  constexpr std::uint64_t kStride = 65537;
  constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32;
  constexpr auto kCount = static_cast<std::size_t>((kPatterns + kStride - 1) / kStride);
  for (const char* text : kSweptFormats) {
    for (const Rounding& rounding : all_roundings()) {
      Sweep sweep(parse_format(text), {.rounding = rounding}, kCount);
      const auto difference = sweep.run(0, kStride, kCount);
      EXPECT_FALSE(difference.has_value())
          << text << " " << to_string(rounding) << " on " << name_of(difference->isa) << ": "
          << std::hexfloat << std::bit_cast<float>(difference->input) << " gave " << difference->got
          << ", the definition says " << difference->expected;
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
