// SPDX-License-Identifier: Apache-2.0
// The windows of a block of outputs as a matrix: where they lie, where they overlap in a copy of
// the picture with borders, or copied one by one; once for all panels.
//
// With a stride of s rows that copy is s pictures, each of every s-th row: rows of outputs are rows
// of them, and s columns are a step of the matrix.
#pragma once

#include <cstddef>

#include "engine/cpu/window_input.h"

namespace nibble::inline engine {

// Whether windows share enough that copies of them would be larger than one of the picture.
bool windows_overlap(const ProductSpec& spec);

class WindowMatrix {
 public:
  WindowMatrix(const ProductSpec& spec, const FilterShape& shape);

  // A row for every output of the span. Where y is the largest of a window, its outputs come one
  // after another. `expanded` is as WindowInput::base needs it.
  FilterMatrix find(const EngineKernels& path, const std::byte* arena, const PixelSpan& span,
                    std::uint8_t* expanded, std::uint8_t* copies) const;

  // What `copies` needs for so many pixels.
  std::size_t copied_bytes(std::int64_t pixels) const;

  // Spans must be whole rows of outputs.
  bool overlaps() const { return overlaps_; }

  // What the copies have for an output, about.
  std::int64_t bytes_of_output() const;

 private:
  // The first pixel of a window, and how many outputs of its row follow.
  struct Run {
    std::int64_t image = 0;
    std::int64_t y = 0;
    std::int64_t x = 0;
    std::int64_t count = 0;
  };

  bool lies_evenly() const;
  bool has_whole_runs() const;
  // In rows and columns of outputs, those between pictures included.
  std::int64_t bordered_height() const;
  std::int64_t bordered_width() const;
  std::int64_t row_bytes_of_copy() const;
  std::int64_t rows_beyond() const;  // below an output's first, of each picture of rows
  FilterMatrix find_overlapping(const EngineKernels& path, const std::byte* arena,
                                const PixelSpan& span, std::uint8_t* copies) const;
  void find_runs(std::int64_t rows, std::int64_t* runs) const;
  void copy_bordered(const EngineKernels& path, const std::byte* arena, std::int64_t first,
                     std::int64_t count, std::uint8_t* to) const;
  std::uint8_t* copy_bordered_row(const EngineKernels& path, const std::byte* arena,
                                  std::int64_t row, std::uint8_t* to) const;
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
  bool overlaps_;
};

}  // namespace nibble::inline engine
