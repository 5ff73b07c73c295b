// SPDX-License-Identifier: Apache-2.0
// How the copy engine is asked for windows of pictures and for filters, part after part.
#pragma once

#include "backend/cuda/staged_product.cuh"

namespace nibble::cuda {

// Of all taps, the last one filled up.
template <class Tile>
__device__ __forceinline__ std::uint32_t stages_of(const WindowCopies& copies) {
  return (copies.taps[0] * copies.taps[1] * copies.segments + Tile::kParts - 1) / Tile::kParts;
}

// Parts of windows and filters, tap after tap.
template <class Tile>
class WindowParts {
 public:
  __device__ WindowParts(const WindowCopies& copies, const TensorMap& rows,
                         const TensorMap& columns, std::uint32_t first_row,
                         std::uint32_t first_column)
      : copies_(copies),
        rows_(rows),
        columns_(columns),
        first_row_(first_row),
        column_group_(first_column / 64) {
    const std::uint32_t image = copies.pixels.quotient(first_row);
    const std::uint32_t pixel = copies.pixels.remainder(first_row, image);
    const std::uint32_t y = copies.width.quotient(pixel);
    const std::uint32_t x = copies.width.remainder(pixel, y);
    image_ = static_cast<std::int32_t>(image);
    x_ = copies.first[0] + static_cast<std::int32_t>(x) * copies.stride[0];
    y_ = copies.first[1] + static_cast<std::int32_t>(y) * copies.stride[1];
  }

  __device__ __forceinline__ std::uint32_t stage_bytes() const {
    const std::uint32_t rows = copies_.band_rows == 0 ? Tile::kRows : copies_.band_rows;
    return (rows + Tile::kColumns) * Tile::kSegment * Tile::kParts;
  }

  // Leaves so many parts out.
  __device__ __forceinline__ void skip(std::uint32_t parts) {
#pragma unroll 1
    for (std::uint32_t i = 0; i < parts; ++i) advance();
  }

  __device__ __forceinline__ void part(std::int8_t* to_rows, std::int8_t* to_columns,
                                       CopyBarrier& barrier) {
    rows(to_rows, barrier);
    columns(to_columns, barrier);
    advance();
  }

  // The next part, of one operand.
  __device__ __forceinline__ void rows(std::int8_t* to, CopyBarrier& barrier) const {
    // Behind the last tap rows are zeros, whatever the columns are: no channel is so far.
    const bool is_inside = tap_y_ < copies_.taps[1];
    if (copies_.is_flat != 0)
      return copy_box(rows_, barrier, to,
                      is_inside ? channel() : static_cast<std::int32_t>(copies_.tap_bytes),
                      static_cast<std::int32_t>(first_row_));
    if (copies_.band_rows != 0)
      return copy_box(rows_, barrier, to,
                      is_inside ? channel() : static_cast<std::int32_t>(copies_.tap_bytes),
                      x_ + static_cast<std::int32_t>(tap_x_ * copies_.step[0]),
                      y_ + static_cast<std::int32_t>(tap_y_ * copies_.step[1]), image_);
    const std::uint32_t turned_x = copies_.is_turned ? copies_.taps[0] - 1 - tap_x_ : tap_x_;
    const std::uint32_t turned_y = copies_.is_turned ? copies_.taps[1] - 1 - tap_y_ : tap_y_;
    copy_windows(rows_, barrier, to,
                 is_inside ? channel() : static_cast<std::int32_t>(copies_.tap_bytes), x_, y_,
                 image_, static_cast<std::uint16_t>(is_inside ? turned_x * copies_.step[0] : 0),
                 static_cast<std::uint16_t>(is_inside ? turned_y * copies_.step[1] : 0));
  }
  __device__ __forceinline__ void columns(std::int8_t* to, CopyBarrier& barrier) const {
    const bool is_inside = tap_y_ < copies_.taps[1];
    copy_box(columns_, barrier, to, is_inside ? tap_begin_ + channel() : 0, 0, 0, 0,
             static_cast<std::int32_t>(column_group_));
  }

  __device__ __forceinline__ void advance() {
    if (++segment_ < copies_.segments) return;
    segment_ = 0;
    tap_begin_ += static_cast<std::int32_t>(copies_.tap_bytes);
    if (++tap_x_ < copies_.taps[0]) return;
    tap_x_ = 0;
    ++tap_y_;
  }

 private:
  __device__ __forceinline__ std::int32_t channel() const {
    return static_cast<std::int32_t>(segment_ * Tile::kSegment);
  }

  const WindowCopies& copies_;
  const TensorMap& rows_;
  const TensorMap& columns_;
  std::int32_t x_;
  std::int32_t y_;
  std::int32_t image_;
  std::uint32_t first_row_;
  std::uint32_t column_group_;
  std::uint32_t tap_x_ = 0;
  std::uint32_t tap_y_ = 0;
  std::uint32_t segment_ = 0;
  std::int32_t tap_begin_ = 0;
};

}  // namespace nibble::cuda
