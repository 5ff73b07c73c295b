// SPDX-License-Identifier: Apache-2.0
// The gradient of a weight: products of errors and inputs, summed over images and pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/gather_product.h"
#include "nibble/core/tensor.h"

namespace nibble::inline backend {

// Exact sums, (out, tap, in) as the weight; in 32 bits where images · pixels · 127² is sure to fit.
struct GradientSums {
  bool is_wide = false;
  std::vector<std::int32_t> narrow = {};
  std::vector<std::int64_t> wide = {};
  int exponent = 0;

  std::size_t size() const { return is_wide ? wide.size() : narrow.size(); }
  std::uint64_t largest() const;
};

// Errors and inputs are turned so many at once, and stay in a cache until they are multiplied.
inline constexpr std::int64_t kTurnedBytes = 32 * 1024 * 1024;

struct WeightGradient {
  const TapMap& meetings;  // forward
  const WeightShape& shape;
  const BlockTensor& input;
  const BlockTensor& error;
  std::int64_t all_images;                   // of all ranks: they decide the width
  std::int64_t safe_terms = kSafeTerms;      // smaller in tests
  std::int64_t turned_bytes = kTurnedBytes;  // smaller in tests
  BufferPool* pool = nullptr;                // of what is needed on the way; null: its own

  // Uses the memory of `sums` again; their exponent is the caller's.
  void run(GradientSums& sums) const;
};

// The sum of errors of every channel over images and pixels: the gradient of a bias.
void bias_gradient(const BlockTensor& error, std::int64_t all_images, GradientSums& sums);

}  // namespace nibble::inline backend
