// SPDX-License-Identifier: Apache-2.0
// Sums of two rescaled bytes on the paths that have them, against the law.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/engine/engine_kernels_test_support.h"
#include "kernels/integer_paths.h"
#include "laws/rescale.h"

namespace nibble::inline kernels {
namespace {

std::int32_t value_of(const ByteTerm& term, int byte) {
  const std::int64_t product = std::int64_t{byte - term.zero} * term.multiplier;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(rounded_shift(product, term.shift), term.low, term.high));
}

// Every byte meets every other one; 2^30 and a shift of 31 tie at each odd number, as 11·2^16 and
// 17 do. From a shift of 22 on products need 64 bits.
TEST(ByteTerms, AreAddedByTheLaw) {
  constexpr int kBytes = 256;
  std::vector<std::uint8_t> first, second;
  for (int i = 0; i < kBytes; ++i) {
    for (int k = 0; k < kBytes; ++k) {
      first.push_back(static_cast<std::uint8_t>(i));
      second.push_back(static_cast<std::uint8_t>(k));
    }
  }
  const ByteTerm terms[] = {
      {.zero = 0, .multiplier = 1, .shift = 0, .low = -1000, .high = 1000},
      {.zero = 128, .multiplier = 77, .shift = 0, .low = -9000, .high = 9000},
      {.zero = 117, .multiplier = 1 << 30, .shift = 31, .low = -128, .high = 127},
      {.zero = 255, .multiplier = INT32_MAX, .shift = 9, .low = INT32_MIN / 2, .high = 5},
      {.zero = 3, .multiplier = 1234567891, .shift = 40, .low = 0, .high = 20},
      {.zero = 119, .multiplier = 11 << 16, .shift = 17, .low = -1500, .high = 1400},
      {.zero = 1, .multiplier = 1660059033, .shift = 17, .low = -5000000, .high = 5000000},
      {.zero = 255, .multiplier = INT32_MAX, .shift = 21, .low = -300000, .high = 300000},
      {.zero = 255, .multiplier = INT32_MAX, .shift = 22, .low = -300000, .high = 300000},
      {.zero = 128, .multiplier = 3, .shift = 1, .low = -300, .high = 300}};
  for (const EngineKernelsPath& path : fast_paths()) {
    if (path.kernel->add_terms == nullptr) continue;
    for (ByteTerm a : terms) {
      for (ByteTerm b : terms) {
        a.from = first.data();
        b.from = second.data();
        std::vector<std::int32_t> sums(first.size(), -1);
        const std::size_t count = sums.size() - 5;  // not whole vectors
        path.kernel->add_terms(a, b, sums.data(), static_cast<std::int64_t>(count));
        std::vector<std::int32_t> wanted(first.size(), -1);
        for (std::size_t i = 0; i < count; ++i)
          wanted[i] = value_of(a, first[i]) + value_of(b, second[i]);
        ASSERT_EQ(sums, wanted) << name_of(path.isa);
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
