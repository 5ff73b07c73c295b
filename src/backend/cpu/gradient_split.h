// SPDX-License-Identifier: Apache-2.0
// How the sums of a weight's gradient are shared out among threads.
#pragma once

#include <cstdint>

namespace nibble::inline backend {

// The sums are [rows][columns][taps], in blocks as products write them.
struct GradientExtent {
  std::int64_t row_blocks = 1;     // of kGroup rows
  std::int64_t column_blocks = 1;  // of PackedWeights::kBlock columns
  std::int64_t taps = 1;
  std::int64_t terms = 1;  // images · pixels: products of one sum

  std::int64_t bytes() const;  // of all sums
};

// Parts of each side. A task has some rows, some columns and all taps, which read nearly the same
// inputs; it shares the terms with the other tasks of the same rows and columns.
struct GradientSplit {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t terms = 1;

  std::int64_t tasks() const { return rows * columns * terms; }
};

// Large parts read their operands seldom, so rows and columns are cut only until the sums of a part
// fit in a core's cache. Threads that are left share terms, where there are many, and so do those
// that are done early: one task more than needed waits for them.
GradientSplit split_gradient(const GradientExtent& extent, std::int64_t threads);

}  // namespace nibble::inline backend
