// SPDX-License-Identifier: Apache-2.0
// Finds the rows of windows, whatever stride, padding or dilation.
#include "engine/cpu/window_rows.h"

namespace nibble::inline engine {

WindowRows::WindowRows(const ProductSpec& spec, const FilterShape& shape)
    : input_(spec),
      shape_(shape),
      zeros_(static_cast<std::size_t>(shape.depth + kPlaceSlack),
             static_cast<std::uint8_t>(spec.in.zero)) {
  const std::int64_t row_bytes = (input_.in.width + 2 * input_.in.border) * input_.pixel_bytes;
  for (std::int64_t i = 0; i < shape_.taps; ++i) {
    const std::int64_t y =
        i * shape_.tap_columns / input_.window.kernel.x * input_.window.dilation.y;
    const std::int64_t x =
        i * shape_.tap_columns % input_.window.kernel.x * input_.window.dilation.x;
    taps_.push_back({y, x, y * row_bytes + x * input_.pixel_bytes});
  }
}

void WindowRows::find(const std::uint8_t* base, const PixelSpan& span,
                      const std::uint8_t** all_rows, FilterPiece* pieces) const {
  OutputPixel pixel = input_.pixel_at(span.first);
  bool follows_inner = false;
  std::int64_t pixels_before = 0;
  const std::int64_t tiles = span.tiles();
  std::int64_t end = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t begin = end;
    end = span.begin(tile + 1);
    const std::int64_t count = end - begin;
    const std::int64_t pixels = count * input_.outputs;
    const std::uint8_t** rows = all_rows + begin * input_.outputs * shape_.taps;
    FilterPiece& piece = pieces[tile];
    const bool is_inner = lies_inside(pixel, count);
    if (is_inner && tile > 0 && follows_inner && pixels == pixels_before && pixel.x > 0) {
      // In the row of the last tile: the same rows, further to the right.
      const std::int64_t further =
          count * input_.meeting.x * input_.window.stride.x * input_.pixel_bytes;
      const std::uint8_t* const* before = rows - pixels * shape_.taps;
      for (std::int64_t i = 0; i < pixels * shape_.taps; ++i) rows[i] = before[i] + further;
      piece = {rows, 0, shape_.taps, static_cast<int>(pixels)};
      input_.advance(pixel, count);
      continue;
    }
    follows_inner = is_inner;
    pixels_before = pixels;
    TapRange range{shape_.taps, 0};
    for (std::int64_t p = 0; p < count;) {
      const std::int64_t run = std::min(count - p, input_.out.width - pixel.x);
      for (std::int64_t i = 0; i < input_.outputs; ++i) {
        const std::int64_t y =
            input_.top_of(pixel.y) + i / input_.meeting.x * input_.window.stride.y;
        const std::int64_t x =
            input_.left_of(pixel.x) + i % input_.meeting.x * input_.window.stride.x;
        find_run_rows(base, pixel.image, y, x, run, rows + p * input_.outputs + i, pixels);
        range = range.joined(taps_inside(y));
      }
      p += run;
      input_.advance(pixel, run);
    }
    piece = {.rows = rows + range.first * pixels,
             .first_tap = range.first,
             .taps = range.end - range.first,
             .pixels = static_cast<int>(pixels)};
  }
}

// Whether so many pixels are in one row and their windows wholly within the picture.
bool WindowRows::lies_inside(const OutputPixel& pixel, std::int64_t pixels) const {
  if (input_.is_linear || pixel.x + pixels > input_.out.width) return false;
  const std::int64_t y = input_.top_of(pixel.y);
  const std::int64_t x = input_.left_of(pixel.x);
  const std::int64_t lowest = y + (input_.meeting.y - 1) * input_.window.stride.y;
  const std::int64_t last = x + (pixels * input_.meeting.x - 1) * input_.window.stride.x;
  return y >= 0 && lowest + taps_.back().y < input_.in.height && x >= 0 &&
         last + taps_.back().x < input_.in.width + 2 * input_.in.border;
}

// Rows of the kernel above or below the picture add nothing where the stored zero is 0.
WindowRows::TapRange WindowRows::taps_inside(std::int64_t top) const {
  if (input_.is_linear || input_.in.zero != 0) return {0, shape_.taps};
  const std::int64_t per_row = shape_.taps / input_.window.kernel.y;
  const std::int64_t step = input_.window.dilation.y;
  const std::int64_t first =
      top >= 0 ? 0 : std::min((step - 1 - top) / step, input_.window.kernel.y - 1);
  const std::int64_t reach = input_.in.height - top;  // rows that are there, from the first on
  const std::int64_t end = std::clamp((reach + step - 1) / step, first + 1, input_.window.kernel.y);
  return {first * per_row, end * per_row};
}

// For `run` pixels of a row of y whose first window is at (y, x); the rows of the next tap are
// `step` further.
void WindowRows::find_run_rows(const std::uint8_t* base, std::int64_t image, std::int64_t y,
                               std::int64_t x, std::int64_t run, const std::uint8_t** rows,
                               std::int64_t step) const {
  const Place& in = input_.in;
  if (input_.is_linear) {
    rows[0] = base + image * in.pixels() * input_.pixel_bytes;
    return;
  }
  const std::int64_t width = in.width + 2 * in.border;
  const std::int64_t columns = input_.meeting.x * input_.window.stride.x;  // from pixel to pixel
  const std::int64_t across = columns * input_.pixel_bytes;
  const std::uint8_t* first = base + ((image * in.height + y) * width + x) * input_.pixel_bytes;
  for (const Tap& tap : taps_) {
    const bool is_there = y + tap.y >= 0 && y + tap.y < in.height;
    const std::int64_t ix = x + tap.x;
    const std::uint8_t* row = first + tap.offset;
    for (std::int64_t p = 0; p < run; ++p) rows[p * input_.outputs] = row + p * across;
    for (std::int64_t p = 0; p < run && (!is_there || ix + p * columns < 0); ++p)
      rows[p * input_.outputs] = zeros_.data();
    for (std::int64_t p = run; p-- > 0 && ix + p * columns >= width;)
      rows[p * input_.outputs] = zeros_.data();
    rows += step;
  }
}

}  // namespace nibble::inline engine
