// SPDX-License-Identifier: Apache-2.0
// Runs depthwise convolutions: some rows of outputs a task, panels of 64 channels, tiles of pixels.
#include "engine/cpu/product_step.h"

#include <algorithm>

#include "core/checked.h"
#include "engine/cpu/packed_filters.h"
#include "kernels/engine/engine_kernels.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kTileBytes = 12 << 10;  // of a tile's columns: they stay in L1
// Of the input of rows that are one task, so that it stays in L1 for all panels.
constexpr std::int64_t kLinesBytes = 16 << 10;
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
    if (path_.depthwise_rescale != nullptr && window.dilation.y == 1) {
      most_lines_ = std::clamp<std::int64_t>(kLinesBytes / spec_.in.row_bytes() / window.stride.y,
                                             1, spec_.out.height);
    }
  }

  bool is_wide() const override { return spec_.finish.is_wide; }
  std::size_t weight_bytes() const override { return filters_.weight_bytes(); }
  std::size_t scratch_bytes() const override {
    const std::int64_t rows = checked_product(whole_.row_step, rows_of(most_lines_));
    return checked_sum(
        kSumsBytes, tile_bytes_,
        checked_product(static_cast<std::size_t>(rows), sizeof(const std::uint8_t*)));
  }

  void run(const RunFrame& frame) const override {
    const std::int64_t height = spec_.out.height;
    const std::int64_t most =
        std::max<std::int64_t>(frame.batch * height / (frame.team.workers() * kTasksPerWorker), 1);
    const std::int64_t lines =
        frame.team.workers() == 1 ? most_lines_ : std::min(most_lines_, most);
    const std::int64_t tasks = (height + lines - 1) / lines;  // of a picture
    frame.team.run(frame.batch * tasks, [&](int worker, std::int64_t task) {
      const std::int64_t y = height * (task % tasks) / tasks;
      const std::int64_t end = height * (task % tasks + 1) / tasks;
      run_lines(frame, frame.scratch[static_cast<std::size_t>(worker)], {task / tasks, y, end - y});
    });
  }

 private:
  // Rows of outputs.
  struct Lines {
    std::int64_t image = 0;
    std::int64_t y = 0;
    std::int64_t count = 0;
  };

  // Of the input, under so many lines, those of their kernels.
  std::int64_t rows_of(std::int64_t lines) const {
    return (lines - 1) * spec_.window.stride.y + spec_.window.kernel.y;
  }

  void run_lines(const RunFrame& frame, std::byte* scratch, const Lines& lines) const {
    DepthwiseTile tile = whole_;
    tile.sums = reinterpret_cast<std::int32_t*>(scratch);
    tile.scratch = reinterpret_cast<std::uint8_t*>(scratch + kSumsBytes);
    auto** rows = reinterpret_cast<const std::uint8_t**>(scratch + kSumsBytes + tile_bytes_);
    find_rows(frame, lines, rows);
    auto* out = reinterpret_cast<std::uint8_t*>(frame.arena + spec_.out.offset);
    for (std::size_t p = 0; p < filters_.panels().size(); ++p) {
      const FilterPanel& panel = filters_.panels()[p];
      RescaleTile rescale = rescale_of(spec_, filters_, p, frame.arena, out);
      advance_tile(rescale, (lines.image * spec_.out.height + lines.y) * spec_.out.width);
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
        run_tile(tile, rescale, lines.count);
        advance_tile(rescale, tile.pixels);
      }
    }
  }

  void run_tile(const DepthwiseTile& tile, const RescaleTile& rescale, std::int64_t lines) const {
    if (path_.depthwise_rescale == nullptr) {  // one line then
      path_.depthwise(tile);
      return path_.rescale(rescale);
    }
    path_.depthwise_rescale(tile, rescale,
                            {.count = static_cast<int>(lines),
                             .row_step = spec_.window.stride.y * tile.row_step,
                             .pixels = spec_.out.width});
  }

  // Every column that the lines can see, by row of the kernel and of further lines' kernels.
  void find_rows(const RunFrame& frame, const Lines& lines, const std::uint8_t** rows) const {
    const Place& in = spec_.in;
    const Conv2d& window = spec_.window;
    const auto* base = reinterpret_cast<const std::uint8_t*>(frame.arena + in.offset);
    const std::int64_t top = lines.y * window.stride.y - window.padding.y;
    const std::int64_t count = rows_of(lines.count);
    for (std::int64_t row = 0; row < count; ++row, rows += whole_.row_step) {
      const std::int64_t y = top + row * window.dilation.y;
      if (y < 0 || y >= in.height) {
        std::fill_n(rows, whole_.row_step, zeros_.data());
        continue;
      }
      const std::uint8_t* first = base + in.at(lines.image, y, -window.padding.x);
      const std::int64_t begin = std::min(whole_.row_step, window.padding.x);
      const std::int64_t end = std::min(whole_.row_step, window.padding.x + in.width);
      std::fill(rows, rows + begin, zeros_.data());
      for (std::int64_t x = begin; x < end; ++x) rows[x] = first + x * in.stride;
      std::fill(rows + end, rows + whole_.row_step, zeros_.data());
    }
  }

  ProductSpec spec_;
  PackedFilters filters_;
  const EngineKernels& path_ = engine_kernels();
  std::vector<std::uint8_t> zeros_;
  DepthwiseTile whole_ = {};     // of a row of outputs
  std::int64_t tiles_ = 1;       // of a row
  std::int64_t most_lines_ = 1;  // of a task
  std::size_t tile_bytes_ = 0;
};

}  // namespace

std::unique_ptr<CpuStep> make_depthwise_step(ProductSpec spec) {
  return std::make_unique<DepthwiseStep>(std::move(spec));
}

}  // namespace nibble::inline engine
