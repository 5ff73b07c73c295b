// SPDX-License-Identifier: Apache-2.0
// The order of a pairwise sum, without recursion: a GPU's stack is short.
#pragma once

#include <cstdint>

#include "kernels/simd/inline.h"

namespace nibble::inline kernels::accumulation {

inline constexpr int kTreeLevels = 36;  // chunks of at most 2^36 products

// Sums terms begin to end, at least one, as a balanced tree whose left half is the longer one.
// leaf(k, sum) sets a term; add(left, right) adds to the left.
template <class Sum, class Leaf, class Add>
NIBBLE_INLINE void balanced_tree(std::int64_t begin, std::int64_t end, Sum& result, Leaf leaf,
                                 Add add) {
  Sum lefts[kTreeLevels];          // of the nodes above whose right half is under way
  std::int64_t ends[kTreeLevels];  // of the nodes above
  int above = 0;
  std::int64_t k = begin;
  while (true) {
    while (end - k > 1) {
      ends[above++] = end;
      end = k + (end - k + 1) / 2;
    }
    leaf(k++, result);
    while (above > 0 && ends[above - 1] == k) {
      Sum& left = lefts[--above];
      add(left, result);
      result = left;
    }
    if (above == 0) return;
    lefts[above - 1] = result;
    end = ends[above - 1];
  }
}

}  // namespace nibble::inline kernels::accumulation
