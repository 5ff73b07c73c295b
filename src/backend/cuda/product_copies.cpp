// SPDX-License-Identifier: Apache-2.0
// Tensor maps of products.
#include "backend/cuda/product_copies.h"

#include <algorithm>
#include <numeric>

#include "backend/cuda/window_copies.h"

namespace nibble::inline backend {
namespace {

std::int64_t first_tap(std::int64_t padding, std::int64_t kernel, std::int64_t dilation,
                       bool is_forward) {
  return is_forward ? -padding : padding - (kernel - 1) * dilation;
}

}  // namespace

std::array<std::int32_t, 2> WindowPass::first() const {
  const SlidingWindow& window = product.window;
  return {static_cast<std::int32_t>(
              first_tap(window.padding.x, window.kernel.x, window.dilation.x, is_forward)),
          static_cast<std::int32_t>(
              first_tap(window.padding.y, window.kernel.y, window.dilation.y, is_forward))};
}

std::array<std::int32_t, 2> WindowPass::stride() const {
  if (!is_forward) return {1, 1};
  return {static_cast<std::int32_t>(product.window.stride.x),
          static_cast<std::int32_t>(product.window.stride.y)};
}

std::vector<std::int32_t> longest_first(const WindowPass& pass) {
  const SlidingWindow& window = pass.product.window;
  const auto inside = [](std::int64_t at, std::int64_t taps, std::int64_t step,
                         std::int64_t extent) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < taps; ++i) {
      const std::int64_t place = at + i * step;
      count += place >= 0 && place < extent ? 1 : 0;
    }
    return count;
  };
  const Picture& result = pass.result();
  const auto taps_of = [&](std::int32_t pixel) {
    const std::int64_t y = pixel / result.width;
    const std::int64_t x = pixel % result.width;
    return inside(pass.first()[0] + x * pass.stride()[0], window.kernel.x, window.dilation.x,
                  pass.source().width) *
           inside(pass.first()[1] + y * pass.stride()[1], window.kernel.y, window.dilation.y,
                  pass.source().height);
  };
  std::vector<std::int32_t> order(static_cast<std::size_t>(result.pixels()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), taps_of);
  return order;
}

cuda::WindowCopies window_copies(const WindowPass& pass, cuda::ProductPath path,
                                 const cuda::ProductShape& shape, const cuda::Rows& source,
                                 std::int64_t images) {
  const SlidingWindow& window = pass.product.window;
  const bool is_even = window.stride.x == 1 && window.stride.y == 1;
  if (path != cuda::ProductPath::wgmma || shape.span.has_groups() || shape.columns % 64 != 0 ||
      shape.a.rows < 64 || !(pass.is_forward || is_even))
    return {};
  const cuda::TileSize tile = cuda::tile_of(path, shape);
  const std::uint32_t bytes = source.pitch();
  const auto width = static_cast<std::uint64_t>(pass.source().width);
  const auto height = static_cast<std::uint64_t>(pass.source().height);
  const cuda::WindowProduct product{.data = source.data,
                                    .pixel_bytes = bytes,
                                    .image_bytes = bytes * width * height,
                                    .images = static_cast<std::uint64_t>(images),
                                    .source = pass.source(),
                                    .result = pass.result(),
                                    .window = window,
                                    .is_turned = !pass.is_forward,
                                    .filters = shape.b,
                                    .columns = shape.columns};
  if (!cuda::can_copy(product)) return {};
  cuda::WindowCopies copies = cuda::window_copies(product, tile.rows, tile.columns);
  if (pass.order == nullptr || images % tile.rows != 0) return copies;
  copies.rows = cuda::map_of({.data = source.data,
                              .rank = 4,
                              .extents = {bytes, width, height, product.images},
                              .strides = {bytes, bytes * width, product.image_bytes},
                              .box = {copies.segment, 1, 1, tile.rows}});
  copies.order = pass.order;
  copies.is_flat = 0;
  return copies;
}

cuda::WindowCopies patch_copies(const WindowPass& pass, const cuda::WindowCopies& copies,
                                std::uint32_t tile_rows, const cuda::Rows& source,
                                std::int64_t images) {
  const Extent2& stride = pass.product.window.stride;
  const std::uint32_t patch_images = tile_rows / cuda::kPatchPixels;
  const Picture& result = pass.result();
  if (copies.segment != 128 || copies.order != nullptr || !pass.is_forward ||
      stride != Extent2{1, 1} || result.width % cuda::kPatchWidth != 0 || result.height % 2 != 0 ||
      images % patch_images != 0)
    return {};
  const std::uint64_t bytes = source.pitch();
  const auto width = static_cast<std::uint64_t>(pass.source().width);
  const auto height = static_cast<std::uint64_t>(pass.source().height);
  cuda::WindowCopies patches = copies;
  patches.rows =
      cuda::map_of({.data = source.data,
                    .rank = 4,
                    .extents = {bytes, width, height, static_cast<std::uint64_t>(images)},
                    .strides = {bytes, bytes * width, bytes * width * height},
                    .box = {copies.segment, cuda::kPatchWidth, 2, patch_images}});
  patches.is_flat = 0;
  patches.patch_images = patch_images;
  patches.patch_pixels = divisor_by(result.pixels() * patch_images);
  return patches;
}

bool can_copy_gradient(const ProductCase& product, cuda::ProductPath path, std::int64_t images) {
  const WeightShape& weight = product.weight;
  return path == cuda::ProductPath::wgmma && weight.groups == 1 &&
         (weight.in % 64 == 0 || weight.in <= 64) && weight.out >= 64 && images % 64 == 0;
}

cuda::GradientCopies gradient_copies(const ProductCase& product, const std::int8_t* inputs,
                                     const std::int8_t* errors, std::int64_t images,
                                     std::uint32_t tile_columns) {
  const SlidingWindow& window = product.window;
  const WeightShape& weight = product.weight;
  const std::uint32_t segment = images % 128 == 0 ? 128 : 64;
  // As many channels as a copy can bring, in whole blocks of a tile.
  const auto is_block = [&](std::int64_t channels) {
    return weight.in % channels == 0 && tile_columns % channels == 0;
  };
  const std::uint32_t block_bits = is_block(256) ? 8 : is_block(128) ? 7 : weight.in > 32 ? 6 : 5;
  const auto outs = static_cast<std::uint64_t>(weight.out);
  const auto ins = static_cast<std::uint64_t>(weight.in);
  const auto pixels = static_cast<std::uint64_t>(product.output.pixels());
  const auto width = static_cast<std::uint64_t>(product.input.width);
  const auto height = static_cast<std::uint64_t>(product.input.height);
  const auto line = static_cast<std::uint64_t>(images);
  const cuda::TensorBox rows{.data = errors,
                             .rank = 3,
                             .extents = {line, outs, pixels},
                             .strides = {line, line * outs},
                             .box = {segment, 128, 1}};
  const cuda::TensorBox columns{.data = inputs,
                                .rank = 4,
                                .extents = {line, ins, width, height},
                                .strides = {line, line * ins, line * ins * width},
                                .box = {segment, 1u << block_bits, 1, 1}};
  const std::int64_t blocks = std::max<std::int64_t>(weight.in >> block_bits, 1);
  const auto segments = static_cast<std::uint32_t>(line) / segment;
  const std::uint32_t parts = 128 / segment;  // of a stage
  return {.rows = cuda::map_of(rows),
          .columns = cuda::map_of(columns),
          .sums = {},
          .width = divisor_by(product.output.width),
          .first = {static_cast<std::int32_t>(-window.padding.x),
                    static_cast<std::int32_t>(-window.padding.y)},
          .stride = {static_cast<std::int32_t>(window.stride.x),
                     static_cast<std::int32_t>(window.stride.y)},
          .step = {static_cast<std::int32_t>(window.dilation.x),
                   static_cast<std::int32_t>(window.dilation.y)},
          .taps_x = divisor_by(window.kernel.x),
          .channels = static_cast<std::uint32_t>(weight.in),
          .tile_columns = tile_columns,
          .block_bits = block_bits,
          .blocks = divisor_by(blocks),
          .all_blocks = static_cast<std::uint32_t>(blocks * weight.taps),
          .outs = static_cast<std::uint32_t>(weight.out),
          .segments = Divisor::of(segments),
          .all_stages = (static_cast<std::uint32_t>(pixels) * segments + parts - 1) / parts,
          .segment = segment,
          .has_sums = 0};
}

void map_sums(const ProductCase& product, std::int32_t* sums, std::uint32_t planes,
              cuda::GradientCopies& copies) {
  const WeightShape& weight = product.weight;
  if (planes == 0 || weight.in % 64 != 0) return;
  const auto outs = static_cast<std::uint64_t>(weight.out);
  const auto line = static_cast<std::uint64_t>(weight.taps * weight.in);
  copies.sums = cuda::map_of({.data = reinterpret_cast<const std::int8_t*>(sums),
                              .rank = 3,
                              .extents = {line, outs, planes},
                              .strides = {4 * line, 4 * line * outs},
                              .box = {cuda::kSumBox[0], cuda::kSumBox[1], 1},
                              .has_sums = true});
  copies.has_sums = 1;
}

}  // namespace nibble::inline backend
