// SPDX-License-Identifier: Apache-2.0
// Products on Hopper: the copy engine brings windows, weights and addends.
#include <fmt/format.h>

#include <optional>

#include "backend/cuda/banded_product.h"
#include "backend/cuda/finish_cut.h"
#include "backend/cuda/window_copies.h"
#include "engine/cuda/product_parts.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kColumnsAtOnce = 64;
constexpr ProductCut kBands = {.pixels = 0, .outputs = kColumnsAtOnce};  // whole lines

SlidingWindow sliding_window(const Conv2d& conv) {
  return {conv.kernel, conv.stride, conv.padding, conv.dilation};
}

// Without addresses.
cuda::WindowProduct window_product(const PlacedProduct& parts) {
  return {.data = nullptr,
          .pixel_bytes = static_cast<std::uint32_t>(parts.in.pixel_bytes()),
          .image_bytes = static_cast<std::uint64_t>(parts.in.image_bytes()),
          .images = 0,
          .source = parts.in.picture,
          .result = parts.out.picture,
          .window = sliding_window(parts.window),
          .is_turned = false,
          .filters = nullptr,
          .columns = static_cast<std::uint32_t>((parts.window.channels + kColumnsAtOnce - 1) /
                                                kColumnsAtOnce * kColumnsAtOnce)};
}

// All that the speed of a product depends on, but for the GPU: the key of tunings.
std::string shape_words(const ProductParts& parts, std::int64_t batch) {
  const auto name = [](const Picture& picture) {
    return fmt::format("{}x{}x{}", picture.height, picture.width, picture.channels);
  };
  return fmt::format("{} of {}, {} to {}{}", window_words(parts.window), batch,
                     name(parts.in.picture), name(parts.out.picture),
                     parts.addend != nullptr ? ", add" : "");
}

std::optional<ProductCut> tuned_cut(const Tuning& tuning, const std::string& shape) {
  const auto found = tuning.cuts.find(shape);
  return found == tuning.cuts.end() ? std::nullopt : std::optional(found->second);
}

// None: nothing was tuned, or to what there is not.
std::optional<cuda::TileSize> tuned_tile(const std::optional<ProductCut>& cut,
                                         const cuda::FinishExtent& extent) {
  if (!cut) return std::nullopt;
  for (const cuda::TileSize& tile : cuda::finish_tiles(extent.segment, extent.form)) {
    if (tile.rows == cut->pixels && tile.columns == cut->outputs) return tile;
  }
  return std::nullopt;
}

// Whether they are worth it: a few bands leave most of a GPU idle, where other tiles share depths.
// Pixels that overlap are quick in no other way.
bool fill(const cuda::BandedShape& bands, const DeviceRun& run) {
  return bands.overlaps() || run.images * bands.bands.divisor >= run.queue.multiprocessors();
}

// None: it cannot be cut so.
std::optional<cuda::BandedShape> bands_of(const cuda::WindowProduct& product,
                                          const DevicePlace* addend) {
  if (addend != nullptr && addend->pixel_bytes() != product.pixel_bytes) return std::nullopt;
  return cuda::banded_shape(product, addend != nullptr);
}

// What is added, pixel by pixel.
cuda::TensorMap added_map(const DevicePlace& addend, const std::int8_t* data, std::uint32_t images,
                          const cuda::TileSize& tile) {
  const Picture& picture = addend.picture;
  const std::uint32_t segment = cuda::added_columns(tile.columns);
  if (!addend.has_border) {
    return cuda::map_of(cuda::pixels_box(
        data, static_cast<std::uint32_t>(addend.pixel_bytes()),
        std::uint64_t{images} * static_cast<std::uint64_t>(picture.pixels()), segment, tile.rows));
  }
  return cuda::map_of(
      cuda::WindowBox{.data = data,
                      .channels = static_cast<std::uint64_t>(addend.pixel_bytes()),
                      .width = static_cast<std::uint64_t>(picture.width),
                      .height = static_cast<std::uint64_t>(picture.height),
                      .images = images,
                      .image_bytes = static_cast<std::uint64_t>(addend.image_bytes()),
                      .first = {0, 0},
                      .count = {static_cast<std::int32_t>(picture.width),
                                static_cast<std::int32_t>(picture.height)},
                      .stride = {1, 1},
                      .segment = segment,
                      .pixels = tile.rows});
}
cuda::AddedCopies added_copies(const DevicePlace& addend, const std::int8_t* data,
                               std::uint32_t images, const cuda::TileSize& tile) {
  const auto divisor = [](std::int64_t by) { return Divisor::of(static_cast<std::uint32_t>(by)); };
  return {.map = added_map(addend, data, images, tile),
          .pixels = divisor(addend.picture.pixels()),
          .width = divisor(addend.picture.width),
          .is_flat = addend.has_border ? 0U : 1U,
          .unused = 0};
}

}  // namespace

bool can_be_copied(const PlacedProduct& product) {
  return product.window.groups == 1 && !product.in.has_words &&
         form_of(product.law.finish, product.out, product.addend) != cuda::FinishForm::none &&
         cuda::can_copy(window_product(product));
}

std::vector<ProductCut> copied_cuts() {
  std::vector<ProductCut> cuts = {kBands};
  for (const cuda::TileSize& tile :
       cuda::finish_tiles(cuda::kSegments.front(), cuda::FinishForm::half_relu))
    cuts.push_back({tile.rows, tile.columns});
  return cuts;
}

DeviceWork copied_work(const ProductParts& parts, const DeviceParts& with, std::string& shape) {
  cuda::WindowProduct product = window_product(parts);
  product.filters = with.constants.keep(parts.packed_weights(kColumnsAtOnce));
  DeviceFinish finish = parts.finish(parts.bias_of_bytes(), with.constants);
  if (parts.in.base != 0 && parts.window.padding != Extent2{0, 0}) {
    const OutsideTable table = outside_table(parts);
    finish.add_outside({with.constants.keep(table.sums), with.constants.keep(table.rows)});
  }
  const std::uint32_t segment = cuda::segment_of(product.pixel_bytes);
  const cuda::FinishExtent extent{.rows = static_cast<std::uint32_t>(parts.out.picture.pixels()),
                                  .columns = static_cast<std::uint32_t>(parts.window.channels),
                                  .segment = segment,
                                  .segments = static_cast<std::uint32_t>(parts.taps()) *
                                              ((product.pixel_bytes + segment - 1) / segment),
                                  .form = form_of(parts.law.finish, parts.out, parts.addend)};
  shape = shape_words(parts, with.places.images());
  const std::optional<ProductCut> tuned_to = tuned_cut(with.tuning, shape);
  const std::optional<cuda::TileSize> tuned = tuned_tile(tuned_to, extent);
  const std::optional<cuda::BandedShape> bands =
      tuned ? std::nullopt : bands_of(product, parts.addend);
  std::optional<DevicePlace> addend;
  if (parts.addend != nullptr) addend = *parts.addend;
  return [=, in = parts.in, is_tuned = tuned_to == kBands](const DeviceRun& run) {
    cuda::WindowProduct own = product;
    own.data = in.data(run.arena);
    own.images = run.images;
    if (bands && (is_tuned || fill(*bands, run))) {
      return queue(run.queue, cuda::banded_product(*bands, own, finish.in(run.arena),
                                                   addend ? addend->data(run.arena) : nullptr,
                                                   addend ? addend->image_bytes() : 0));
    }
    cuda::FinishExtent all = extent;
    all.rows *= run.images;
    const std::uint32_t multiprocessors = run.queue.multiprocessors();
    const cuda::FinishCut cut = tuned ? cuda::cut_into(*tuned, all, multiprocessors)
                                      : cuda::usual_cut(all, multiprocessors);
    // Narrow products wait for copies more than for tensor cores.
    const bool is_narrow = cut.planes == 1 && cut.tile.columns <= 64 && product.window.taps() > 1;
    const cuda::WindowBand band =
        is_narrow ? cuda::band_of(product, cut.tile.rows) : cuda::WindowBand{};
    cuda::ProductShape rows_by_columns{};
    rows_by_columns.a.rows = all.rows;
    rows_by_columns.columns = all.columns;
    queue(run.queue, cuda::ProductPath::wgmma,
          cuda::FinishedProduct{
              .shape = rows_by_columns,
              .finish = finish.in(run.arena),
              .shared = {run.sums, run.arrived},
              .copies = cuda::window_copies(own, cut.tile.rows, cut.tile.columns, band),
              .added = addend ? added_copies(*addend, addend->data(run.arena), run.images, cut.tile)
                              : cuda::AddedCopies{},
              .tile_rows = cut.tile.rows,
              .tile_columns = cut.tile.columns,
              .planes = cut.planes,
              .has_halves = 0});
  };
}

}  // namespace nibble::inline engine
