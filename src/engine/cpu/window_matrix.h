// SPDX-License-Identifier: Apache-2.0
// The windows of a block of outputs as a matrix: where they lie, or copied once for all panels.
#pragma once

#include <cstddef>

#include "engine/cpu/window_input.h"

namespace nibble::inline engine {

class WindowMatrix {
 public:
  WindowMatrix(const ProductSpec& spec, const FilterShape& shape);

  // A row for every output of the span, for an input whose pixel 0 of picture 0 is at `base`. Where
  // y is the largest of a window, its outputs come one after another.
  FilterMatrix find(const EngineKernels& path, const std::uint8_t* base, const PixelSpan& span,
                    std::uint8_t* copies) const;

  // What `copies` needs for so many pixels.
  std::size_t copied_bytes(std::int64_t pixels) const;

 private:
  // The first pixel of a window, and how many outputs of its row follow.
  struct Run {
    std::int64_t image = 0;
    std::int64_t y = 0;
    std::int64_t x = 0;
    std::int64_t count = 0;
  };

  bool lies_evenly() const;
  void copy_run(const EngineKernels& path, const std::uint8_t* base, const Run& run,
                std::uint8_t* to) const;
  void copy_kernel_row(const EngineKernels& path, const std::uint8_t* row, const Run& run,
                       std::uint8_t* to) const;
  void copy_edge(const std::uint8_t* row, std::int64_t x, std::uint8_t* to) const;

  WindowInput input_;
  FilterShape shape_;
  std::int64_t row_bytes_;     // of the matrix
  std::int64_t kernel_bytes_;  // of a row of the kernel
  bool is_one_run_;            // so is a row of the kernel in the picture
};

}  // namespace nibble::inline engine
