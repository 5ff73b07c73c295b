// SPDX-License-Identifier: Apache-2.0
// Cuts pictures into bands, and tells the copy engine of them.
#include "backend/cuda/banded_product.h"

#include <algorithm>

namespace nibble::cuda {
namespace {

constexpr std::uint32_t kMostStages = 4;
constexpr std::uint32_t kLargestBox = 256;  // along an axis
constexpr std::uint32_t kOverlapping = 16;  // bytes of a pixel
constexpr std::uint32_t kOverlapped = 4;    // pixels
constexpr std::uint32_t kElement = 8;       // bytes, of lines that are copied whole

std::uint32_t raised(std::uint32_t bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

bool slides(const WindowProduct& product) {
  const SlidingWindow& window = product.window;
  return !product.is_turned && window.taps() > 1 && window.stride == Extent2{1, 1} &&
         window.dilation == Extent2{1, 1} && product.columns == kBandTile.columns;
}

// Lines of a picture with what lies around them, from any pixel on.
TensorBox lines_box(const BandedShape& shape, const WindowProduct& product) {
  const auto width = static_cast<std::uint64_t>(product.source.width);
  const auto height = static_cast<std::uint64_t>(product.source.height);
  const std::uint64_t line = width * product.pixel_bytes;
  const std::uint32_t lines = shape.lines + shape.taps[1] - 1;
  if (product.pixel_bytes == kOverlapping)
    return {.data = product.data,
            .rank = 3,
            .extents = {line / kElement, height, product.images, 0, 0},
            .strides = {line, product.image_bytes, 0, 0},
            .box = {shape.line_bytes / kElement, lines, 1, 0, 0},
            .has_long_lines = true};
  return {.data = product.data,
          .rank = 4,
          .extents = {product.pixel_bytes, width, height, product.images, 0},
          .strides = {product.pixel_bytes, line, product.image_bytes, 0},
          .box = {product.pixel_bytes, shape.pitch.divisor, lines, 1, 0}};
}

// As far apart as the lines of the source are.
TensorBox added_box(const BandedShape& shape, const WindowProduct& product, const std::int8_t* data,
                    std::uint64_t image_bytes) {
  const std::uint64_t pixel = shape.pixel_bytes;
  return {.data = data,
          .rank = 4,
          .extents = {pixel, shape.extent[0], shape.extent[1], product.images, 0},
          .strides = {pixel, pixel * shape.extent[0], image_bytes, 0},
          .box = {shape.pixel_bytes, shape.pitch.divisor, shape.lines, 1, 0}};
}

}  // namespace

std::uint32_t BandedShape::filter_bytes() const {
  const std::uint32_t depth = overlaps() ? kOverlapped * pixel_bytes : pixel_bytes;
  return taps[0] * taps[1] * depth * kBandTile.columns;
}

std::uint32_t BandedShape::shared_bytes() const {
  constexpr std::uint32_t kBarriers = 128;
  return 1024 + stages * stage_bytes + filter_bytes() + kBarriers;
}

std::optional<BandedShape> banded_shape(const WindowProduct& product, bool has_addend) {
  const SlidingWindow& window = product.window;
  const std::uint32_t pixel = product.pixel_bytes;
  const bool overlaps = pixel == kOverlapping;
  if (!slides(product) || (pixel != 64 && pixel != 32 && !overlaps)) return std::nullopt;
  if (overlaps && (window.kernel.x != kOverlapped || has_addend)) return std::nullopt;
  const auto width = static_cast<std::uint32_t>(product.result.width);
  const auto height = static_cast<std::uint32_t>(product.result.height);
  const auto taps_x = static_cast<std::uint32_t>(window.kernel.x);
  const auto taps_y = static_cast<std::uint32_t>(window.kernel.y);
  const std::uint32_t pitch = width + taps_x - 1;
  const std::uint32_t most = std::min((kBandTile.rows + taps_x - 1) / pitch, height);
  if (most == 0) return std::nullopt;
  const std::uint32_t bands = (height + most - 1) / most;
  const std::uint32_t lines = (height + bands - 1) / bands;
  const std::uint32_t elements = overlaps ? kOverlapping / kElement : 1;  // of a pixel
  if (2 * lines * width < kBandTile.rows || pitch * elements > kLargestBox ||
      lines + taps_y - 1 > kLargestBox) {
    return std::nullopt;
  }
  const std::uint32_t line_bytes = pitch * pixel;
  // The last row of a tile at the last tap, thrown away or not.
  const std::uint32_t reach =
      (taps_y - 1) * line_bytes + (taps_x - 1) * pixel + kBandTile.rows * pixel;
  const std::uint32_t rows_bytes = (lines + taps_y - 1) * line_bytes;
  BandedShape shape{.pixel_bytes = pixel,
                    .bands = Divisor::of(bands),
                    .pitch = Divisor::of(pitch),
                    .lines = lines,
                    .extent = {width, height},
                    .first = {static_cast<std::int32_t>(-window.padding.x * elements),
                              static_cast<std::int32_t>(-window.padding.y)},
                    .taps = {overlaps ? 1 : taps_x, taps_y},
                    .line_bytes = line_bytes,
                    .rows_bytes = rows_bytes,
                    .added_bytes = has_addend ? lines * line_bytes : 0,
                    .stage_bytes = raised(std::max(reach, rows_bytes)),
                    .stages = kMostStages};
  while (shape.stages > 1 && shape.shared_bytes() > kBandBytes) --shape.stages;
  return shape.stages > 1 ? std::optional(shape) : std::nullopt;
}

BandedProduct banded_product(const BandedShape& shape, const WindowProduct& product,
                             const SumFinish& finish, const std::int8_t* added,
                             std::uint64_t added_image) {
  const std::uint32_t depth =
      shape.filter_bytes() / (shape.taps[0] * shape.taps[1] * kBandTile.columns);
  return {.rows = map_of(lines_box(shape, product)),
          .columns = map_of(filters_box(product, depth, kBandTile.columns)),
          .added = added == nullptr ? TensorMap{}
                                    : map_of(added_box(shape, product, added, added_image)),
          .finish = finish,
          .shape = shape,
          .tiles = shape.bands.divisor * static_cast<std::uint32_t>(product.images),
          .unused = {}};
}

}  // namespace nibble::cuda
