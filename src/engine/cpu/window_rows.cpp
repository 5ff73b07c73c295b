// SPDX-License-Identifier: Apache-2.0
// Finds the rows of windows, whatever stride, padding or dilation.
#include "engine/cpu/window_rows.h"

#include "core/checked.h"

namespace nibble::inline engine {

std::int64_t pixel_bytes_of(const Place& in) {
  return in.storage == FilterStorage::u4 ? in.channels : in.stride;
}

WindowRows::WindowRows(const ProductSpec& spec, const FilterShape& shape)
    : in_(spec.in),
      out_(spec.out),
      window_(spec.window),
      meeting_(spec.meeting),
      outputs_(spec.meeting.y * spec.meeting.x),
      is_linear_(spec.is_linear),
      shape_(shape),
      pixel_bytes_(pixel_bytes_of(spec.in)),
      zeros_(static_cast<std::size_t>(shape.depth + kPlaceSlack),
             static_cast<std::uint8_t>(spec.in.zero)) {
  const std::int64_t row_bytes = (in_.width + 2 * in_.border) * pixel_bytes_;
  for (std::int64_t i = 0; i < shape_.taps; ++i) {
    const std::int64_t y = i * shape_.tap_columns / window_.kernel.x * window_.dilation.y;
    const std::int64_t x = i * shape_.tap_columns % window_.kernel.x * window_.dilation.x;
    taps_.push_back({y, x, y * row_bytes + x * pixel_bytes_});
  }
}

// Rows of the input that a block of outputs can touch.
std::size_t WindowRows::expanded_bytes(std::int64_t block) const {
  if (in_.storage != FilterStorage::u4) return 0;
  std::int64_t rows = checked_product(block, in_.height);  // linear: whole pictures
  if (!is_linear_) {
    const std::int64_t outputs = block / out_.width + 2;
    const std::int64_t pictures = block / out_.pixels() + 2;
    const std::int64_t reach = (window_.kernel.y - 1) * window_.dilation.y + 1;
    rows = std::min(
        checked_sum(checked_product(outputs, meeting_.y, window_.stride.y), reach, in_.height),
        checked_product(pictures, in_.height));
  }
  return static_cast<std::size_t>(
      checked_sum(checked_product(rows, in_.width, pixel_bytes_), kPlaceSlack));
}

void WindowRows::find(const EngineKernels& path, const std::byte* arena, const PixelSpan& span,
                      const std::uint8_t** all_rows, FilterPiece* pieces,
                      std::uint8_t* expanded) const {
  const auto* input = reinterpret_cast<const std::uint8_t*>(arena + in_.offset);
  const std::uint8_t* base = input;  // of pixel 0 of picture 0
  if (in_.storage == FilterStorage::u4) {
    const auto [first, last] = input_range(span);
    path.expand_u4(input + first * in_.stride, expanded,
                   (last - first) * in_.channels / kFilterColumns);
    base = expanded - first * pixel_bytes_;
  }
  OutputPixel pixel = pixel_at(span.first);
  bool follows_inner = false;
  std::int64_t pixels_before = 0;
  for (std::int64_t tile = 0; tile < span.tiles; ++tile) {
    const std::int64_t begin = span.begin(tile);
    const std::int64_t count = span.begin(tile + 1) - begin;
    const std::int64_t pixels = count * outputs_;
    const std::uint8_t** rows = all_rows + begin * outputs_ * shape_.taps;
    FilterPiece& piece = pieces[tile];
    const bool is_inner = lies_inside(pixel, count);
    if (is_inner && tile > 0 && follows_inner && pixels == pixels_before && pixel.x > 0) {
      // In the row of the last tile: the same rows, further to the right.
      const std::int64_t further = count * meeting_.x * window_.stride.x * pixel_bytes_;
      const std::uint8_t* const* before = rows - pixels * shape_.taps;
      for (std::int64_t i = 0; i < pixels * shape_.taps; ++i) rows[i] = before[i] + further;
      piece = {rows, 0, shape_.taps, static_cast<int>(pixels)};
      advance(pixel, count);
      continue;
    }
    follows_inner = is_inner;
    pixels_before = pixels;
    TapRange range{shape_.taps, 0};
    for (std::int64_t p = 0; p < count;) {
      const std::int64_t run = std::min(count - p, out_.width - pixel.x);
      for (std::int64_t i = 0; i < outputs_; ++i) {
        const std::int64_t y = top_of(pixel.y) + i / meeting_.x * window_.stride.y;
        const std::int64_t x = left_of(pixel.x) + i % meeting_.x * window_.stride.x;
        find_run_rows(base, pixel.image, y, x, run, rows + p * outputs_ + i, pixels);
        range = range.joined(taps_inside(y));
      }
      p += run;
      advance(pixel, run);
    }
    piece = {.rows = rows + range.first * pixels,
             .first_tap = range.first,
             .taps = range.end - range.first,
             .pixels = static_cast<int>(pixels)};
  }
}

// Whether so many pixels are in one row and their windows wholly within the picture.
bool WindowRows::lies_inside(const OutputPixel& pixel, std::int64_t pixels) const {
  if (is_linear_ || pixel.x + pixels > out_.width) return false;
  const std::int64_t y = top_of(pixel.y);
  const std::int64_t x = left_of(pixel.x);
  const std::int64_t lowest = y + (meeting_.y - 1) * window_.stride.y;
  const std::int64_t last = x + (pixels * meeting_.x - 1) * window_.stride.x;
  return y >= 0 && lowest + taps_.back().y < in_.height && x >= 0 &&
         last + taps_.back().x < in_.width + 2 * in_.border;
}

WindowRows::OutputPixel WindowRows::pixel_at(std::int64_t index) const {
  const std::int64_t at = index % out_.pixels();
  return {index / out_.pixels(), at / out_.width, at % out_.width};
}
// Within a row.
void WindowRows::advance(OutputPixel& pixel, std::int64_t pixels) const {
  pixel.x += pixels;
  if (pixel.x < out_.width) return;
  pixel.x = 0;
  if (++pixel.y < out_.height) return;
  pixel.y = 0;
  ++pixel.image;
}

// Rows of the kernel above or below the picture add nothing where the stored zero is 0.
WindowRows::TapRange WindowRows::taps_inside(std::int64_t top) const {
  if (is_linear_ || in_.zero != 0) return {0, shape_.taps};
  const std::int64_t per_row = shape_.taps / window_.kernel.y;
  const std::int64_t step = window_.dilation.y;
  const std::int64_t first = top >= 0 ? 0 : std::min((step - 1 - top) / step, window_.kernel.y - 1);
  const std::int64_t reach = in_.height - top;  // rows that are there, from the first on
  const std::int64_t end = std::clamp((reach + step - 1) / step, first + 1, window_.kernel.y);
  return {first * per_row, end * per_row};
}

// For `run` pixels of a row of y whose first window is at (y, x); the rows of the next tap are
// `step` further.
void WindowRows::find_run_rows(const std::uint8_t* base, std::int64_t image, std::int64_t y,
                               std::int64_t x, std::int64_t run, const std::uint8_t** rows,
                               std::int64_t step) const {
  const Place& in = in_;
  if (is_linear_) {
    rows[0] = base + image * in.pixels() * pixel_bytes_;
    return;
  }
  const std::int64_t width = in.width + 2 * in.border;
  const std::int64_t columns = meeting_.x * window_.stride.x;  // from pixel to pixel
  const std::int64_t across = columns * pixel_bytes_;
  const std::uint8_t* first = base + ((image * in.height + y) * width + x) * pixel_bytes_;
  for (const Tap& tap : taps_) {
    const bool is_there = y + tap.y >= 0 && y + tap.y < in.height;
    const std::int64_t ix = x + tap.x;
    const std::uint8_t* row = first + tap.offset;
    for (std::int64_t p = 0; p < run; ++p) rows[p * outputs_] = row + p * across;
    for (std::int64_t p = 0; p < run && (!is_there || ix + p * columns < 0); ++p)
      rows[p * outputs_] = zeros_.data();
    for (std::int64_t p = run; p-- > 0 && ix + p * columns >= width;)
      rows[p * outputs_] = zeros_.data();
    rows += step;
  }
}

// The pixels of the input, over all pictures, that a span of outputs reads.
std::pair<std::int64_t, std::int64_t> WindowRows::input_range(const PixelSpan& span) const {
  const Place& in = in_;
  const std::int64_t last = span.first + span.count - 1;
  if (is_linear_) return {span.first * in.pixels(), (last + 1) * in.pixels()};
  const auto row_of = [&](std::int64_t pixel) {
    return top_of(pixel % out_.pixels() / out_.width);
  };
  const std::int64_t from = std::max<std::int64_t>(row_of(span.first), 0);
  const std::int64_t reach =
      (meeting_.y - 1) * window_.stride.y + (window_.kernel.y - 1) * window_.dilation.y + 1;
  const std::int64_t to = std::clamp<std::int64_t>(row_of(last) + reach, 0, in.height);
  const std::int64_t pictures = out_.pixels();
  return {span.first / pictures * in.pixels() + std::min(from, in.height) * in.width,
          last / pictures * in.pixels() + to * in.width};
}

}  // namespace nibble::inline engine
