// SPDX-License-Identifier: Apache-2.0
// Copies windows side by side, a row of the kernel for a row of outputs at a time.
#include "engine/cpu/window_matrix.h"

#include "core/checked.h"

namespace nibble::inline engine {
namespace {

// In rows or columns of outputs, with the zeros between this picture and the next.
std::int64_t bordered(std::int64_t pixels, std::int64_t padding, std::int64_t stride) {
  return (pixels + padding + stride - 1) / stride;
}

}  // namespace

// A window is a stride further than the one before, if columns of zeros lie between rows, and rows
// of zeros between pictures: as many as on one side, since what is right of a row is left of the
// next.
bool windows_overlap(const ProductSpec& spec) {
  const Conv2d& window = spec.window;
  return !spec.is_linear && spec.meeting == Extent2{1, 1} &&
         window.kernel.y * window.kernel.x > window.stride.y * window.stride.x &&
         bordered(spec.in.width, window.padding.x, window.stride.x) >= spec.out.width &&
         bordered(spec.in.height, window.padding.y, window.stride.y) >= spec.out.height;
}

WindowMatrix::WindowMatrix(const ProductSpec& spec, const FilterShape& shape)
    : input_(spec),
      shape_(shape),
      row_bytes_(row_bytes(shape.taps, shape.depth)),
      kernel_bytes_(shape.taps * shape.depth / spec.window.kernel.y),
      is_one_run_(spec.window.dilation.x == 1 || shape.tap_columns == spec.window.kernel.x),
      overlaps_(shape.is_matrix && !lies_evenly() && windows_overlap(spec) && has_whole_runs()) {}

// Whether rows need no copies: each is a pixel, or a picture.
bool WindowMatrix::lies_evenly() const {
  const Conv2d& window = input_.window;
  return input_.is_linear ||
         (window.kernel == Extent2{1, 1} && window.stride == Extent2{1, 1} &&
          window.padding == Extent2{0, 0} && input_.in.border == 0 && input_.outputs == 1);
}

// Taps, or rows of the kernel that are taps, must be whole runs.
bool WindowMatrix::has_whole_runs() const {
  const Conv2d& window = input_.window;
  const bool is_row = shape_.tap_columns == window.kernel.x && window.dilation.x == 1;
  return shape_.depth % kFilterRun == 0 &&
         (is_row || (shape_.tap_columns == 1 && shape_.depth == input_.pixel_bytes));
}

std::int64_t WindowMatrix::bordered_height() const {
  return bordered(input_.in.height, input_.window.padding.y, input_.window.stride.y);
}

std::int64_t WindowMatrix::bordered_width() const {
  return bordered(input_.in.width, input_.window.padding.x, input_.window.stride.x);
}

std::int64_t WindowMatrix::row_bytes_of_copy() const {
  return bordered_width() * input_.window.stride.x * input_.pixel_bytes;
}

std::int64_t WindowMatrix::rows_beyond() const {
  return (input_.window.kernel.y - 1) * input_.window.dilation.y / input_.window.stride.y;
}

std::int64_t WindowMatrix::bytes_of_output() const {
  const Extent2 stride = input_.window.stride;
  return overlaps() ? stride.y * stride.x * input_.pixel_bytes : row_bytes_;
}

// Of windows that overlap: their runs, then the pictures.
std::size_t WindowMatrix::copied_bytes(std::int64_t pixels) const {
  if (lies_evenly()) return 0;
  if (overlaps()) {
    const std::int64_t pictures = pixels / input_.out.pixels() + 2;
    const std::int64_t between = bordered_height() - input_.out.height;
    const std::int64_t rows = checked_sum(pixels / input_.out.width + 2,
                                          checked_product(pictures, between), rows_beyond());
    const std::int64_t copied = checked_product(rows, input_.window.stride.y, row_bytes_of_copy());
    return static_cast<std::size_t>(
        checked_sum(row_bytes_, copied, input_.window.padding.x * input_.pixel_bytes, kPlaceSlack));
  }
  return static_cast<std::size_t>(checked_product(pixels, input_.outputs, row_bytes_));
}

FilterMatrix WindowMatrix::find(const EngineKernels& path, const std::byte* arena,
                                const PixelSpan& span, std::uint8_t* expanded,
                                std::uint8_t* copies) const {
  if (overlaps()) return find_overlapping(path, arena, span, copies);
  const std::uint8_t* base = input_.base(path, arena, span, expanded);
  if (lies_evenly()) {
    const std::int64_t stride = input_.pixel_bytes * (input_.is_linear ? input_.in.pixels() : 1);
    return {.values = base + span.first * stride, .stride = stride, .pixels = span.count};
  }
  const std::int64_t outputs = input_.outputs;
  OutputPixel pixel = input_.pixel_at(span.first);
  std::uint8_t* to = copies;
  for (std::int64_t left = span.count; left > 0;) {
    Run run{.image = pixel.image, .count = std::min(left, input_.out.width - pixel.x)};
    for (std::int64_t i = 0; i < outputs; ++i) {
      run.y = input_.top_of(pixel.y) + i / input_.meeting.x * input_.window.stride.y;
      run.x = input_.left_of(pixel.x) + i % input_.meeting.x * input_.window.stride.x;
      copy_run(path, base, run, to + i * row_bytes_);
    }
    to += run.count * outputs * row_bytes_;
    left -= run.count;
    input_.advance(pixel, run.count);
  }
  return {.values = copies, .stride = row_bytes_, .pixels = span.count * outputs};
}

// Rows of outputs are counted over all pictures, with the rows between them.
FilterMatrix WindowMatrix::find_overlapping(const EngineKernels& path, const std::byte* arena,
                                            const PixelSpan& span, std::uint8_t* copies) const {
  const OutputPixel begin = input_.pixel_at(span.first);
  const OutputPixel last = input_.pixel_at(span.first + span.count - 1);
  const std::int64_t first = begin.image * bordered_height() + begin.y;
  const std::int64_t rows = last.image * bordered_height() + last.y - first + 1;
  auto* runs = reinterpret_cast<std::int64_t*>(copies);
  copies += row_bytes_;  // more than its runs, and whole lines of the cache
  find_runs(rows + rows_beyond(), runs);
  copy_bordered(path, arena, first, rows + rows_beyond(), copies);
  return {.values = copies,
          .stride = input_.window.stride.x * input_.pixel_bytes,
          .pixels = (rows - 1) * bordered_width() + input_.out.width,
          .runs = runs,
          .kept = {.width = bordered_width(),
                   .columns = input_.out.width,
                   .height = bordered_height(),
                   .rows = input_.out.height,
                   .first_row = begin.y}};
}

// In pictures of so many rows.
void WindowMatrix::find_runs(std::int64_t rows, std::int64_t* runs) const {
  const Conv2d& window = input_.window;
  for (std::int64_t at = 0; at < row_bytes_; at += kFilterRun) {
    const std::int64_t tap = at / shape_.depth;
    const std::int64_t in_row = window.kernel.x / shape_.tap_columns;
    const std::int64_t y = tap / in_row * window.dilation.y;
    const std::int64_t x = tap % in_row * window.dilation.x;
    *runs++ = (y % window.stride.y * rows + y / window.stride.y) * row_bytes_of_copy() +
              x * input_.pixel_bytes + at % shape_.depth;
  }
}

// Row 0 is the first row of zeros above the first picture.
void WindowMatrix::copy_bordered(const EngineKernels& path, const std::byte* arena,
                                 std::int64_t first, std::int64_t count, std::uint8_t* to) const {
  const std::int64_t stride = input_.window.stride.y;
  for (std::int64_t k = 0; k < stride; ++k) {
    for (std::int64_t row = first; row < first + count; ++row)
      to = copy_bordered_row(path, arena, row * stride + k, to);
  }
  std::fill_n(to, input_.window.padding.x * input_.pixel_bytes,
              static_cast<std::uint8_t>(input_.in.zero));
}

// Returns where the next one goes.
std::uint8_t* WindowMatrix::copy_bordered_row(const EngineKernels& path, const std::byte* arena,
                                              std::int64_t row, std::uint8_t* to) const {
  const Place& in = input_.in;
  const std::int64_t height = bordered_height() * input_.window.stride.y;
  const std::int64_t y = row % height - input_.window.padding.y;
  const auto zero = static_cast<std::uint8_t>(in.zero);
  if (y < 0 || y >= in.height) return std::fill_n(to, row_bytes_of_copy(), zero);
  const auto* from =
      reinterpret_cast<const std::uint8_t*>(arena + in.offset) + in.at(row / height, y, 0);
  const std::int64_t border = input_.window.padding.x * input_.pixel_bytes;
  const std::int64_t row_bytes = in.width * input_.pixel_bytes;
  to = std::fill_n(to, border, zero);
  if (in.storage == FilterStorage::u4) {
    path.expand_u4(from, to, row_bytes / kFilterColumns);
  } else {
    path.copy_rows(from, 0, to, 0, 1, row_bytes);
  }
  return std::fill_n(to + row_bytes, row_bytes_of_copy() - border - row_bytes, zero);
}

void WindowMatrix::copy_run(const EngineKernels& path, const std::uint8_t* base, const Run& run,
                            std::uint8_t* to) const {
  const Place& in = input_.in;
  for (std::int64_t k = 0; k < input_.window.kernel.y; ++k, to += kernel_bytes_) {
    const std::int64_t y = run.y + k * input_.window.dilation.y;
    if (y >= 0 && y < in.height) {
      const std::int64_t row = (run.image * in.height + y) * input_.width();
      copy_kernel_row(path, base + row * input_.pixel_bytes, run, to);
    } else {
      for (std::int64_t p = 0; p < run.count; ++p)
        std::fill_n(to + p * input_.outputs * row_bytes_, kernel_bytes_,
                    static_cast<std::uint8_t>(in.zero));
    }
  }
}

// `row` is column 0 of the picture.
void WindowMatrix::copy_kernel_row(const EngineKernels& path, const std::uint8_t* row,
                                   const Run& run, std::uint8_t* to) const {
  const Conv2d& window = input_.window;
  const std::int64_t columns = input_.meeting.x * window.stride.x;  // from output to output
  const std::int64_t step = input_.outputs * row_bytes_;
  const std::int64_t reach = (window.kernel.x - 1) * window.dilation.x + 1;
  // Outputs whose windows have all of their columns.
  const auto first_at = [&](std::int64_t x) {  // that begins at x or further
    return std::clamp<std::int64_t>((x - run.x + columns - 1) / columns, 0, run.count);
  };
  const std::int64_t begin = is_one_run_ ? first_at(0) : run.count;
  const std::int64_t end = std::max(begin, first_at(input_.width() - reach + 1));
  for (std::int64_t p = 0; p < begin; ++p) copy_edge(row, run.x + p * columns, to + p * step);
  path.copy_rows(row + (run.x + begin * columns) * input_.pixel_bytes, columns * input_.pixel_bytes,
                 to + begin * step, step, end - begin, kernel_bytes_);
  for (std::int64_t p = end; p < run.count; ++p) copy_edge(row, run.x + p * columns, to + p * step);
}

// Of a window that begins at column x, tap by tap.
void WindowMatrix::copy_edge(const std::uint8_t* row, std::int64_t x, std::uint8_t* to) const {
  const std::int64_t taps = kernel_bytes_ / shape_.depth;
  for (std::int64_t t = 0; t < taps; ++t, to += shape_.depth) {
    const std::int64_t column = x + t * input_.window.dilation.x;
    if (column >= 0 && column < input_.width()) {
      std::copy_n(row + column * input_.pixel_bytes, shape_.depth, to);
    } else {
      std::fill_n(to, shape_.depth, static_cast<std::uint8_t>(input_.in.zero));
    }
  }
}

}  // namespace nibble::inline engine
