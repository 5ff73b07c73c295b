// SPDX-License-Identifier: Apache-2.0
// Shares the sums of a weight's gradient out.
#include "backend/cpu/gradient_split.h"

#include <algorithm>

#include "backend/cpu/block_tensor.h"
#include "backend/cpu/packed_weights.h"

namespace nibble::inline backend {
namespace {

constexpr std::int64_t kPartBytes = 640 * 1024;  // of sums: beside operands in the second cache
constexpr std::int64_t kLeastTerms = 1024;       // of a part: many more than adding it up costs
constexpr std::int64_t kManyTasks = 4;           // a thread's, beside which none is long

}  // namespace

std::int64_t GradientExtent::bytes() const {
  constexpr auto kSum = static_cast<std::int64_t>(sizeof(std::int32_t));
  return row_blocks * kGroup * column_blocks * PackedWeights::kBlock * taps * kSum;
}

GradientSplit split_gradient(const GradientExtent& extent, std::int64_t threads) {
  const std::int64_t most_terms = std::max<std::int64_t>(1, extent.terms / kLeastTerms);
  GradientSplit split;
  const auto can_be_cut = [&] {
    return split.rows < extent.row_blocks || split.columns < extent.column_blocks;
  };
  // The longer side of a part.
  const auto cut = [&] {
    const std::int64_t height = extent.row_blocks * kGroup * split.columns;
    const std::int64_t width = extent.column_blocks * PackedWeights::kBlock * split.rows;
    if (split.columns == extent.column_blocks ||
        (split.rows < extent.row_blocks && height >= width)) {
      ++split.rows;
    } else {
      ++split.columns;
    }
  };
  while (can_be_cut() &&
         (extent.bytes() > kPartBytes * split.tasks() || split.tasks() * most_terms < threads)) {
    cut();
  }
  if (threads == 1) return split;
  const std::int64_t cuts = split.tasks();
  const std::int64_t helpers = cuts > 1 && cuts < kManyTasks * threads ? 1 : 0;
  split.terms = std::min(most_terms, (threads - 1) / cuts + 1 + helpers);
  return split;
}

}  // namespace nibble::inline backend
