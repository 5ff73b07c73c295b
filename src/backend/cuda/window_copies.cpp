// SPDX-License-Identifier: Apache-2.0
// Tells the copy engine of windows and filters.
#include "backend/cuda/window_copies.h"

#include <algorithm>

namespace nibble::cuda {
namespace {

std::int32_t small(std::int64_t number) {
  return static_cast<std::int32_t>(number);
}

// Along one axis: where the first tap of the first window is.
std::int32_t first_tap(const WindowProduct& product, std::int64_t kernel, std::int64_t padding,
                       std::int64_t dilation) {
  return small(product.is_turned ? padding - (kernel - 1) * dilation : -padding);
}

WindowBox box_of(const WindowProduct& product, std::uint32_t rows) {
  const SlidingWindow& window = product.window;
  return {.data = product.data,
          .channels = product.pixel_bytes,
          .width = static_cast<std::uint64_t>(product.source.width),
          .height = static_cast<std::uint64_t>(product.source.height),
          .images = product.images,
          .image_bytes = product.image_bytes,
          .first = {first_tap(product, window.kernel.x, window.padding.x, window.dilation.x),
                    first_tap(product, window.kernel.y, window.padding.y, window.dilation.y)},
          .count = {small(product.result.width), small(product.result.height)},
          .stride = {small(product.is_turned ? 1 : window.stride.x),
                     small(product.is_turned ? 1 : window.stride.y)},
          .segment = segment_of(product.pixel_bytes),
          .pixels = rows};
}

// Lines as wide as the result's, from any pixel on; what lies outside is zero.
TensorBox band_box(const WindowProduct& product, std::uint32_t segment, const WindowBand& band) {
  const auto width = static_cast<std::uint64_t>(product.source.width);
  const auto height = static_cast<std::uint64_t>(product.source.height);
  const std::uint64_t pixel = product.pixel_bytes;
  return {.data = product.data,
          .rank = 4,
          .extents = {pixel, width, height, product.images, 0},
          .strides = {pixel, pixel * width, product.image_bytes, 0},
          .box = {segment, static_cast<std::uint32_t>(product.result.width), band.lines,
                  band.images, 0}};
}

// One tap at every pixel of pictures without gaps.
bool is_flat(const WindowProduct& product) {
  const SlidingWindow& window = product.window;
  return window.taps() == 1 && window.stride == Extent2{1, 1} && window.padding == Extent2{0, 0} &&
         product.source.height == product.result.height &&
         product.source.width == product.result.width &&
         product.image_bytes ==
             static_cast<std::uint64_t>(product.source.pixels()) * product.pixel_bytes;
}

}  // namespace

TensorBox pixels_box(const std::int8_t* data, std::uint32_t pixel_bytes, std::uint64_t pixels,
                     std::uint32_t segment, std::uint32_t rows) {
  return {.data = data,
          .rank = 2,
          .extents = {pixel_bytes, pixels, 0, 0, 0},
          .strides = {pixel_bytes, 0, 0, 0},
          .box = {segment, rows, 0, 0, 0}};
}

// Columns in the order that StagedSums::at asks for: 8·j + 2·t + e of 64 is filter 16·t + 2·j + e.
TensorBox filters_box(const WindowProduct& product, std::uint32_t segment, std::uint32_t columns) {
  const std::uint64_t filter =
      std::uint64_t{product.pixel_bytes} * static_cast<std::uint64_t>(product.window.taps());
  return {.data = product.filters,
          .rank = 5,
          .extents = {filter, 2, 4, 8, product.columns / 64},
          .strides = {filter, 16 * filter, 2 * filter, 64 * filter},
          .box = {segment, 2, 4, 8, columns / 64}};
}

bool can_copy(const WindowProduct& product) {
  constexpr std::int64_t kFarthest = 255;  // tap
  const SlidingWindow& window = product.window;
  return can_map(box_of(product, 0)) && (window.kernel.x - 1) * window.dilation.x <= kFarthest &&
         (window.kernel.y - 1) * window.dilation.y <= kFarthest;
}

WindowBand band_of(const WindowProduct& product, std::uint32_t rows) {
  const SlidingWindow& window = product.window;
  const auto width = static_cast<std::uint32_t>(product.result.width);
  const auto height = static_cast<std::uint32_t>(product.result.height);
  if (product.is_turned || window.stride != Extent2{1, 1} || width > rows) return {};
  WindowBand band{.lines = std::min(rows / width, height)};
  while (height % band.lines != 0) --band.lines;
  if (band.lines == height) band.images = rows / (width * height);
  const bool is_worthwhile = band.images * band.lines * width * 8 >= rows * 7;
  return is_worthwhile ? band : WindowBand{};
}

WindowCopies window_copies(const WindowProduct& product, std::uint32_t rows, std::uint32_t columns,
                           const WindowBand& band) {
  const SlidingWindow& window = product.window;
  const WindowBox box = box_of(product, rows);
  const auto divisor = [](std::int64_t by) { return Divisor::of(static_cast<std::uint32_t>(by)); };
  const bool is_plain = band.lines == 0 && is_flat(product);
  const std::uint64_t pixels = product.images * static_cast<std::uint64_t>(product.source.pixels());
  return {.rows = band.lines > 0 ? map_of(band_box(product, box.segment, band))
                  : is_plain     ? map_of(pixels_box(product.data, product.pixel_bytes, pixels,
                                                     box.segment, rows))
                                 : map_of(box),
          .columns = map_of(filters_box(product, box.segment, columns)),
          .pixels = divisor(product.result.pixels()),
          .width = divisor(product.result.width),
          .first = {box.first[0], box.first[1]},
          .stride = {box.stride[0], box.stride[1]},
          .taps = {static_cast<std::uint32_t>(window.kernel.x),
                   static_cast<std::uint32_t>(window.kernel.y)},
          .step = {static_cast<std::uint32_t>(window.dilation.x),
                   static_cast<std::uint32_t>(window.dilation.y)},
          .extent = {static_cast<std::uint32_t>(product.source.width),
                     static_cast<std::uint32_t>(product.source.height)},
          .tap_bytes = product.pixel_bytes,
          .segments = (product.pixel_bytes + box.segment - 1) / box.segment,
          .segment = box.segment,
          .is_turned = product.is_turned ? 1u : 0u,
          .is_flat = is_plain ? 1u : 0u,
          .band_rows = band.images * band.lines * static_cast<std::uint32_t>(product.result.width),
          .order = nullptr,
          .images = divisor(std::max<std::int64_t>(static_cast<std::int64_t>(product.images), 1)),
          .unused = 0,
          .patch_images = 0,
          .patch_pixels = {}};
}

}  // namespace nibble::cuda
