// SPDX-License-Identifier: Apache-2.0
// The sum of block tensors.
#include "integer/block_sum.h"

#include <vector>

#include "integer/round_pixels.h"
#include "nibble/fixed/block_exponent.h"
#include "nibble/kernels/integer_loops.h"

namespace nibble {
namespace {

// 127·Σ factors must stay below 2^31.
constexpr std::int64_t kNarrowFactors = std::int64_t{1} << 24;

}  // namespace

void add_blocks(RoundingPoint& point, const IntegerPass& pass,
                std::span<const BlockTensor* const> operands, BlockTensor& result) {
  std::vector<int> exponents;
  for (const BlockTensor* each : operands) exponents.push_back(each->exponent);
  const Alignment common = align(exponents);
  std::int64_t factors = 0;
  for (const std::int64_t each : common.factor) factors += each;
  const std::int64_t count = result.picture.pixel_bytes();
  const int shift = point.round(pass.rule, result, [&](const RoundingJob& job) {
    if (factors <= kNarrowFactors) {
      return round_pixels<std::int32_t>(
          job, result, pass.first_image,
          [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
            for (std::size_t k = 0; k < operands.size(); ++k) {
              integer_loops().add_scaled(sums, operands[k]->at(group, pixel),
                                         static_cast<std::int32_t>(common.factor[k]),
                                         static_cast<std::size_t>(count));
            }
          });
    }
    return round_pixels<std::int64_t>(
        job, result, pass.first_image,
        [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
          for (std::size_t k = 0; k < operands.size(); ++k) {
            const std::int8_t* from = operands[k]->at(group, pixel);
            for (std::int64_t i = 0; i < count; ++i) sums[i] += from[i] * common.factor[k];
          }
        });
  });
  result.exponent = common.exponent + shift;
}

}  // namespace nibble
