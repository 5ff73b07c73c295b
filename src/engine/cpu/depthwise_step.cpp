// SPDX-License-Identifier: Apache-2.0
// Runs depthwise convolutions: a row of outputs a task, panels of 64 channels, tiles of pixels.
#include "engine/cpu/product_step.h"

#include <algorithm>

#include "core/checked.h"
#include "engine/cpu/packed_filters.h"
#include "kernels/engine/engine_kernels.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kTileBytes = 12 << 10;  // of a tile's columns: they stay in L1
constexpr std::size_t kSumsBytes = kFilterPixels * kFilterColumns * sizeof(std::int32_t);

class DepthwiseStep final : public CpuStep {
 public:
  explicit DepthwiseStep(ProductSpec spec)
      : spec_(std::move(spec)),
        filters_(spec_, depthwise_shape(spec_.window)),
        zeros_(static_cast<std::size_t>(spec_.in.channels + kPlaceSlack),
               static_cast<std::uint8_t>(spec_.in.zero)) {
    spec_.weights = std::vector<std::int8_t>();  // packed now
    const Conv2d& window = spec_.window;
    whole_.kernel_rows = window.kernel.y;
    whole_.kernel_columns = window.kernel.x;
    whole_.stride = window.stride.x;
    whole_.dilation = window.dilation.x;
    whole_.pixels = static_cast<int>(spec_.out.width);
    whole_.row_step = whole_.columns();
    DepthwiseTile tile = whole_;
    for (tiles_ = (spec_.out.width + kFilterPixels - 1) / kFilterPixels;; ++tiles_) {
      tile.pixels = static_cast<int>((spec_.out.width + tiles_ - 1) / tiles_);
      if (tile.pixels == 1 || tile.scratch_bytes() <= kTileBytes) break;
    }
    tile_bytes_ = static_cast<std::size_t>(tile.scratch_bytes());
  }

  bool is_wide() const override { return spec_.finish.is_wide; }
  std::size_t weight_bytes() const override { return filters_.weight_bytes(); }
  std::size_t scratch_bytes() const override {
    const std::int64_t rows = checked_product(whole_.row_step, whole_.kernel_rows);
    return checked_sum(
        kSumsBytes, tile_bytes_,
        checked_product(static_cast<std::size_t>(rows), sizeof(const std::uint8_t*)));
  }

  void run(const RunFrame& frame) const override {
    const EngineKernels& path = engine_kernels();
    frame.team.run(frame.batch * spec_.out.height, [&](int worker, std::int64_t row) {
      run_row(frame, path, frame.scratch[static_cast<std::size_t>(worker)], row);
    });
  }

 private:
  void run_row(const RunFrame& frame, const EngineKernels& path, std::byte* scratch,
               std::int64_t row) const {
    DepthwiseTile tile = whole_;
    tile.sums = reinterpret_cast<std::int32_t*>(scratch);
    tile.scratch = reinterpret_cast<std::uint8_t*>(scratch + kSumsBytes);
    auto** rows = reinterpret_cast<const std::uint8_t**>(scratch + kSumsBytes + tile_bytes_);
    find_rows(frame, row, rows);
    auto* out = reinterpret_cast<std::uint8_t*>(frame.arena + spec_.out.offset);
    for (std::size_t p = 0; p < filters_.panels().size(); ++p) {
      const FilterPanel& panel = filters_.panels()[p];
      RescaleTile rescale = rescale_of(spec_, filters_, p, frame.arena, out);
      advance_tile(rescale, row * spec_.out.width);
      rescale.sums = tile.sums;
      tile.weights = reinterpret_cast<const std::int8_t*>(filters_.weights(panel));
      tile.bias = filters_.bias(p);
      tile.blocks = panel.blocks;
      tile.channel = panel.first_output;
      for (std::int64_t t = 0; t < tiles_; ++t) {
        const std::int64_t first = spec_.out.width * t / tiles_;
        tile.rows = rows + first * tile.stride;
        tile.pixels = static_cast<int>(spec_.out.width * (t + 1) / tiles_ - first);
        rescale.pixels = tile.pixels;
        if (path.depthwise_rescale != nullptr) {
          path.depthwise_rescale(tile, rescale);
        } else {
          path.depthwise(tile);
          path.rescale(rescale);
        }
        advance_tile(rescale, tile.pixels);
      }
    }
  }

  // Every column that a row of outputs can see, by row of the kernel.
  void find_rows(const RunFrame& frame, std::int64_t row, const std::uint8_t** rows) const {
    const Place& in = spec_.in;
    const Conv2d& window = spec_.window;
    const auto* base = reinterpret_cast<const std::uint8_t*>(frame.arena + in.offset);
    const std::int64_t image = row / spec_.out.height;
    const std::int64_t top = row % spec_.out.height * window.stride.y - window.padding.y;
    for (std::int64_t ky = 0; ky < window.kernel.y; ++ky, rows += whole_.row_step) {
      const std::int64_t y = top + ky * window.dilation.y;
      if (y < 0 || y >= in.height) {
        std::fill_n(rows, whole_.row_step, zeros_.data());
        continue;
      }
      const std::uint8_t* first = base + in.at(image, y, -window.padding.x);
      const std::int64_t begin = std::min(whole_.row_step, window.padding.x);
      const std::int64_t end = std::min(whole_.row_step, window.padding.x + in.width);
      std::fill(rows, rows + begin, zeros_.data());
      for (std::int64_t x = begin; x < end; ++x) rows[x] = first + x * in.stride;
      std::fill(rows + end, rows + whole_.row_step, zeros_.data());
    }
  }

  ProductSpec spec_;
  PackedFilters filters_;
  std::vector<std::uint8_t> zeros_;
  DepthwiseTile whole_ = {};  // of a row of outputs
  std::int64_t tiles_ = 1;    // of a row
  std::size_t tile_bytes_ = 0;
};

}  // namespace

std::unique_ptr<CpuStep> make_depthwise_step(ProductSpec spec) {
  return std::make_unique<DepthwiseStep>(std::move(spec));
}

}  // namespace nibble::inline engine
