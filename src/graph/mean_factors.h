// SPDX-License-Identifier: Apache-2.0
// How the sums of a pool become means: in which unit, and what they are multiplied with, so that
// they are means of what is inside of the picture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "laws/integer_laws.h"
#include "nibble/graph/op.h"

namespace nibble::inline graph {

// Units of a sum that its mean is one of.
inline double parts_of_mean(const SumPool& pool) {
  return static_cast<double>(pool.mean_bits > 0 ? std::int64_t{1} << pool.mean_bits
                                                : pool.kernel.y * pool.kernel.x);
}

class MeanFactors {
 public:
  // Extents of the pool's input and output.
  MeanFactors(const SumPool& pool, Extent2 in, Extent2 out)
      : bits_(pool.mean_bits),
        rows_(inside(out.y, pool.kernel.y, pool.stride.y, pool.padding.y, in.y)),
        columns_(inside(out.x, pool.kernel.x, pool.stride.x, pool.padding.x, in.x)) {}

  // Of the window of output (y, x); a pool without mean bits has 1.
  std::int64_t of(std::int64_t y, std::int64_t x) const {
    return bits_ == 0 ? 1 : mean_factor(rows_[at(y)] * columns_[at(x)], bits_);
  }

  // Calls body(count, factor) for each kind of window.
  template <class Body>
  void visit_kinds(const Body& body) const {
    for (const std::int64_t rows : kinds(rows_)) {
      for (const std::int64_t columns : kinds(columns_)) {
        body(rows * columns, bits_ == 0 ? 1 : mean_factor(rows * columns, bits_));
      }
    }
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  // Taps that lie inside along one axis, window by window.
  static std::vector<std::int64_t> inside(std::int64_t windows, std::int64_t kernel,
                                          std::int64_t stride, std::int64_t padding,
                                          std::int64_t extent) {
    std::vector<std::int64_t> counts;
    for (std::int64_t w = 0; w < windows; ++w) {
      const std::int64_t first = w * stride - padding;
      counts.push_back(std::min(first + kernel, extent) - std::max<std::int64_t>(first, 0));
    }
    return counts;
  }

  static std::vector<std::int64_t> kinds(std::vector<std::int64_t> counts) {
    std::ranges::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
  }

  std::int64_t bits_;
  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> columns_;
};

}  // namespace nibble::inline graph
