// SPDX-License-Identifier: Apache-2.0
// How many numbers a file may make of those it holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibble/core/error.h"

namespace nibble::inline foreign {

// As many as the file has bytes, and some more for small files.
class FoldBudget {
 public:
  explicit FoldBudget(std::size_t bytes) : left_(static_cast<std::int64_t>(bytes) + kFree) {}

  void take(std::int64_t elements) {
    if (elements > left_) {
      throw Error("read_onnx", "constants that follow from others: more numbers than the file has",
                  ErrorKind::limit);
    }
    left_ -= elements;
  }

 private:
  static constexpr std::int64_t kFree = std::int64_t{1} << 18;
  std::int64_t left_;
};

}  // namespace nibble::inline foreign
