// SPDX-License-Identifier: Apache-2.0
// Runs convolutions and linear layers: blocks of pixels × panels of outputs, tile by tile.
#include "engine/product_step.h"

#include <algorithm>
#include <cstring>

#include "engine/packed_filters.h"
#include "nibble/kernels/filter8.h"

namespace nibble {
namespace {

constexpr std::int64_t kBlockBytes = 224 << 10;  // of a block's input: it shares L2 with weights
constexpr std::int64_t kLeastBlock = 48;         // pixels
constexpr std::int64_t kMostBlock = 256;
constexpr std::int64_t kTasksPerWorker = 4;
constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

FilterShape shape_of(const ProductSpec& spec, std::int64_t pixel_bytes) {
  const Conv2d& window = spec.window;
  if (spec.is_linear) return {1, (spec.in.pixels() * pixel_bytes + 3) / 4 * 4, 1};
  if (spec.in.border > 0 || pixel_bytes % 4 != 0) {  // thin: a row of the kernel is one run
    return {window.kernel.y, (window.kernel.x * pixel_bytes + 3) / 4 * 4, window.kernel.x};
  }
  return {window.kernel.y * window.kernel.x, (spec.in.channels / window.groups + 3) / 4 * 4, 1};
}

class ProductStep final : public EngineStep {
 public:
  explicit ProductStep(ProductSpec spec)
      : spec_(std::move(spec)),
        pixel_bytes_(spec_.in.storage == FilterStorage::u4 ? spec_.in.channels : spec_.in.stride),
        shape_(shape_of(spec_, pixel_bytes_)),
        filters_(spec_, shape_),
        block_(spec_.cut.pixels > 0
                   ? spec_.cut.pixels
                   : std::clamp(kBlockBytes / shape_.depth, kLeastBlock, kMostBlock)),
        zeros_(static_cast<std::size_t>(shape_.depth + kPlaceSlack),
               static_cast<std::uint8_t>(spec_.in.zero)) {
    spec_.weights = std::vector<std::int8_t>();  // packed now
    const Conv2d& window = spec_.window;
    const std::int64_t row_bytes = (spec_.in.width + 2 * spec_.in.border) * pixel_bytes_;
    for (std::int64_t i = 0; i < shape_.taps; ++i) {
      const std::int64_t y = i * shape_.tap_columns / window.kernel.x * window.dilation.y;
      const std::int64_t x = i * shape_.tap_columns % window.kernel.x * window.dilation.x;
      taps_.push_back({y, x, y * row_bytes + x * pixel_bytes_});
    }
  }

  StepInfo info() const override {
    return {.name = spec_.name,
            .kind = spec_.kind,
            .shape = spec_.shape,
            .macs = spec_.macs,
            .is_wide = spec_.is_wide};
  }
  std::size_t weight_bytes() const override { return filters_.weight_bytes(); }

  std::size_t scratch_bytes() const override {
    return sums_bytes() + rows_bytes() + pieces_bytes() + expanded_input_bytes() +
           expanded_panel_bytes();
  }

  void run(const RunFrame& frame) const override {
    const Job job = job_of(frame);
    std::ranges::fill(frame.marks, -1);
    frame.crew.run(job.blocks * job.panel_groups, [&](int worker, std::int64_t task) {
      const auto w = static_cast<std::size_t>(worker);
      run_task(job, cut(frame.scratch[w]), frame.marks[w], task);
    });
  }

 private:
  struct OutputPixel {
    std::int64_t image = 0;
    std::int64_t y = 0;
    std::int64_t x = 0;
  };

  // Of a window's first pixel.
  struct Tap {
    std::int64_t y = 0;
    std::int64_t x = 0;
    std::int64_t offset = 0;  // in bytes
  };

  // Taps that a tile needs.
  struct TapRange {
    std::int64_t first = 0;
    std::int64_t end = 0;

    TapRange joined(const TapRange& other) const {
      return {std::min(first, other.first), std::max(end, other.end)};
    }
  };

  struct Scratch {
    std::int32_t* sums;
    const std::uint8_t** rows;
    FilterPiece* pieces;  // by tile
    std::uint8_t* input;
    std::int8_t* panel;
  };

  // Tasks of one block come one after another, so that a worker looks at each block once.
  struct Job {
    const RunFrame& frame;
    const Filter8& path;
    std::int64_t blocks = 0;
    std::int64_t panel_groups = 0;
  };

  Job job_of(const RunFrame& frame) const {
    const std::int64_t pixels = frame.batch * spec_.out.pixels();
    const std::int64_t blocks = (pixels + block_ - 1) / block_;
    const auto panels = static_cast<std::int64_t>(filters_.panels().size());
    const std::int64_t wanted = frame.crew.workers() * kTasksPerWorker;
    const std::int64_t groups = frame.crew.workers() == 1 ? 1 : (wanted + blocks - 1) / blocks;
    return {frame, filter8_path(), blocks, std::clamp<std::int64_t>(groups, 1, panels)};
  }

  std::size_t sums_bytes() const { return kFilterPixels * kFilterColumns * sizeof(std::int32_t); }
  std::size_t rows_bytes() const {
    // Those of a block, and of one tile for groups beyond the first.
    return aligned(static_cast<std::size_t>((block_ + kFilterPixels) * shape_.taps) *
                   sizeof(const std::uint8_t*));
  }
  std::size_t pieces_bytes() const {
    return aligned(static_cast<std::size_t>(block_) * sizeof(FilterPiece));
  }
  std::size_t expanded_panel_bytes() const {
    return filters_.is_packed() ? aligned(filters_.largest_panel()) : 0;
  }
  // Rows of the input that a block of outputs can touch.
  std::size_t expanded_input_bytes() const {
    if (spec_.in.storage != FilterStorage::u4) return 0;
    std::int64_t pixels = block_ * spec_.in.pixels();  // linear: whole pictures
    if (!spec_.is_linear) {
      const Conv2d& window = spec_.window;
      const std::int64_t rows = block_ / spec_.out.width + 2;
      const std::int64_t pictures = block_ / spec_.out.pixels() + 2;
      const std::int64_t reach = (window.kernel.y - 1) * window.dilation.y + 1;
      pixels = std::min((rows * window.stride.y + reach) * spec_.in.width + spec_.in.pixels(),
                        pictures * spec_.in.pixels());
    }
    return aligned(static_cast<std::size_t>(pixels * pixel_bytes_ + kPlaceSlack));
  }

  Scratch cut(std::byte* memory) const {
    Scratch scratch{};
    scratch.sums = reinterpret_cast<std::int32_t*>(memory);
    memory += sums_bytes();
    scratch.rows = reinterpret_cast<const std::uint8_t**>(memory);
    memory += rows_bytes();
    scratch.pieces = reinterpret_cast<FilterPiece*>(memory);
    memory += pieces_bytes();
    scratch.panel = reinterpret_cast<std::int8_t*>(memory);
    memory += expanded_panel_bytes();
    scratch.input = reinterpret_cast<std::uint8_t*>(memory);
    return scratch;
  }

  struct Span {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t tiles = 0;

    std::int64_t begin(std::int64_t tile) const {
      return tile * (count / tiles) + std::min(tile, count % tiles);
    }
  };

  void run_task(const Job& job, const Scratch& scratch, std::int64_t& mark,
                std::int64_t task) const {
    const std::int64_t block = task / job.panel_groups;
    const std::int64_t group = task % job.panel_groups;
    const std::int64_t pixels = job.frame.batch * spec_.out.pixels();
    Span span{.first = pixels * block / job.blocks};  // blocks of the same size, but for one pixel
    span.count = pixels * (block + 1) / job.blocks - span.first;
    const int tile_pixels = job.path.pixels[filters_.panels().front().blocks];
    span.tiles = (span.count + tile_pixels - 1) / tile_pixels;
    if (mark != block) {
      find_rows(job, scratch, span);
      mark = block;
    }
    const auto panels = static_cast<std::int64_t>(filters_.panels().size());
    const std::int64_t end = panels * (group + 1) / job.panel_groups;
    for (std::int64_t panel = panels * group / job.panel_groups; panel < end; ++panel) {
      run_panel(job, scratch, span, static_cast<std::size_t>(panel));
    }
  }

  // Fills scratch.rows: [tile][tap][pixel of the tile].
  void find_rows(const Job& job, const Scratch& scratch, const Span& span) const {
    const auto* input = reinterpret_cast<const std::uint8_t*>(job.frame.arena + spec_.in.offset);
    const std::uint8_t* base = input;  // of pixel 0 of picture 0
    if (spec_.in.storage == FilterStorage::u4) {
      const auto [first, last] = input_range(span);
      job.path.expand_u4(input + first * spec_.in.stride, scratch.input,
                         (last - first) * spec_.in.channels / kFilterColumns);
      base = scratch.input - first * pixel_bytes_;
    }
    OutputPixel pixel = pixel_at(span.first);
    bool follows_inner = false;
    std::int64_t pixels_before = 0;
    for (std::int64_t tile = 0; tile < span.tiles; ++tile) {
      const std::int64_t begin = span.begin(tile);
      const std::int64_t pixels = span.begin(tile + 1) - begin;
      const std::uint8_t** rows = scratch.rows + begin * shape_.taps;
      FilterPiece& piece = scratch.pieces[tile];
      const bool is_inner = lies_inside(pixel, pixels);
      if (is_inner && tile > 0 && follows_inner && pixels == pixels_before && pixel.x > 0) {
        // In the row of the last tile: the same rows, further to the right.
        const std::int64_t further = pixels * spec_.window.stride.x * pixel_bytes_;
        const std::uint8_t* const* before = rows - pixels * shape_.taps;
        for (std::int64_t i = 0; i < pixels * shape_.taps; ++i) rows[i] = before[i] + further;
        piece = {rows, 0, shape_.taps, static_cast<int>(pixels)};
        advance(pixel, pixels);
        continue;
      }
      follows_inner = is_inner;
      pixels_before = pixels;
      TapRange range{shape_.taps, 0};
      for (std::int64_t p = 0; p < pixels;) {
        const std::int64_t run = std::min(pixels - p, spec_.out.width - pixel.x);
        find_run_rows(base, pixel, run, rows + p, pixels);
        range = range.joined(taps_inside(pixel.y));
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
  bool lies_inside(const OutputPixel& pixel, std::int64_t pixels) const {
    const Conv2d& window = spec_.window;
    if (spec_.is_linear || pixel.x + pixels > spec_.out.width) return false;
    const std::int64_t y = pixel.y * window.stride.y - window.padding.y;
    const std::int64_t x = pixel.x * window.stride.x - window.padding.x + spec_.in.border;
    const std::int64_t last = x + (pixels - 1) * window.stride.x;
    return y >= 0 && y + taps_.back().y < spec_.in.height && x >= 0 &&
           last + taps_.back().x < spec_.in.width + 2 * spec_.in.border;
  }

  OutputPixel pixel_at(std::int64_t index) const {
    const std::int64_t at = index % spec_.out.pixels();
    return {index / spec_.out.pixels(), at / spec_.out.width, at % spec_.out.width};
  }
  // Within a row.
  void advance(OutputPixel& pixel, std::int64_t pixels) const {
    pixel.x += pixels;
    if (pixel.x < spec_.out.width) return;
    pixel.x = 0;
    if (++pixel.y < spec_.out.height) return;
    pixel.y = 0;
    ++pixel.image;
  }

  // Rows of the kernel above or below the picture add nothing where the stored zero is 0.
  TapRange taps_inside(std::int64_t y) const {
    const Conv2d& window = spec_.window;
    if (spec_.is_linear || spec_.in.zero != 0) return {0, shape_.taps};
    const std::int64_t top = y * window.stride.y - window.padding.y;
    const std::int64_t per_row = shape_.taps / window.kernel.y;
    const std::int64_t step = window.dilation.y;
    const std::int64_t first =
        top >= 0 ? 0 : std::min((step - 1 - top) / step, window.kernel.y - 1);
    const std::int64_t reach = spec_.in.height - top;  // rows that are there, from the first on
    const std::int64_t end = std::clamp((reach + step - 1) / step, first + 1, window.kernel.y);
    return {first * per_row, end * per_row};
  }

  // For `run` pixels of one row of outputs; the rows of the next tap are `step` further.
  void find_run_rows(const std::uint8_t* base, const OutputPixel& pixel, std::int64_t run,
                     const std::uint8_t** rows, std::int64_t step) const {
    const Place& in = spec_.in;
    if (spec_.is_linear) {
      rows[0] = base + pixel.image * in.pixels() * pixel_bytes_;
      return;
    }
    const Conv2d& window = spec_.window;
    const std::int64_t y = pixel.y * window.stride.y - window.padding.y;
    const std::int64_t x = pixel.x * window.stride.x - window.padding.x + in.border;
    const std::int64_t width = in.width + 2 * in.border;
    const std::int64_t across = window.stride.x * pixel_bytes_;
    const std::uint8_t* first = base + ((pixel.image * in.height + y) * width + x) * pixel_bytes_;
    for (const Tap& tap : taps_) {
      const std::int64_t iy = y + tap.y;
      const std::int64_t ix = x + tap.x;
      if (iy < 0 || iy >= in.height) {
        std::fill_n(rows, run, zeros_.data());
        rows += step;
        continue;
      }
      const std::uint8_t* row = first + tap.offset;
      for (std::int64_t p = 0; p < run; ++p) rows[p] = row + p * across;
      for (std::int64_t p = 0; p < run && ix + p * window.stride.x < 0; ++p)
        rows[p] = zeros_.data();
      for (std::int64_t p = run; p-- > 0 && ix + p * window.stride.x >= width;)
        rows[p] = zeros_.data();
      rows += step;
    }
  }

  // The pixels of the input, over all pictures, that a span of outputs reads.
  std::pair<std::int64_t, std::int64_t> input_range(const Span& span) const {
    const Place& in = spec_.in;
    const std::int64_t last = span.first + span.count - 1;
    if (spec_.is_linear) return {span.first * in.pixels(), (last + 1) * in.pixels()};
    const Conv2d& window = spec_.window;
    const auto row_of = [&](std::int64_t pixel) {
      return pixel % spec_.out.pixels() / spec_.out.width * window.stride.y - window.padding.y;
    };
    const std::int64_t from = std::max<std::int64_t>(row_of(span.first), 0);
    const std::int64_t reach = (window.kernel.y - 1) * window.dilation.y + 1;
    const std::int64_t to = std::clamp<std::int64_t>(row_of(last) + reach, 0, in.height);
    const std::int64_t pictures = spec_.out.pixels();
    return {span.first / pictures * in.pixels() + std::min(from, in.height) * in.width,
            last / pictures * in.pixels() + to * in.width};
  }

  void run_panel(const Job& job, const Scratch& scratch, const Span& span,
                 std::size_t index) const {
    const FilterPanel& panel = filters_.panels()[index];
    const auto* weights = reinterpret_cast<const std::int8_t*>(filters_.weights(panel));
    if (filters_.is_packed()) {
      job.path.expand_s4(filters_.weights(panel), scratch.panel,
                         static_cast<std::int64_t>(panel.bytes / 128));
      weights = scratch.panel;
    }
    FilterTile tile{.weights = weights,
                    .bias = filters_.bias(index),
                    .sums = scratch.sums,
                    .taps = shape_.taps,
                    .depth = shape_.depth,
                    .blocks = panel.blocks};
    RescaleTile rescale = rescale_of(job.frame, panel, index);
    rescale.sums = scratch.sums;
    rescale.out = static_cast<std::uint8_t*>(rescale.out) + span.first * rescale.stride;
    rescale.addend.data += span.first * rescale.addend.stride;
    const std::span pieces(scratch.pieces, static_cast<std::size_t>(span.tiles));
    if (job.path.multiply_rescale != nullptr && panel.first_channel == 0) {
      return job.path.multiply_rescale(tile, rescale, pieces);
    }
    for (const FilterPiece& piece : pieces) {
      tile = piece.of(tile);
      if (panel.first_channel != 0) tile.rows = shifted_rows(scratch, tile, panel.first_channel);
      job.path.multiply(tile);
      tile.weights = weights;
      rescale.pixels = piece.pixels;
      job.path.rescale(rescale);
      rescale.out = static_cast<std::uint8_t*>(rescale.out) + piece.pixels * rescale.stride;
      rescale.addend.data += piece.pixels * rescale.addend.stride;
    }
  }

  // The rows of a later group, behind the others.
  const std::uint8_t* const* shifted_rows(const Scratch& scratch, const FilterTile& tile,
                                          std::int64_t channels) const {
    const std::int64_t count = tile.pixels * tile.taps;
    const std::uint8_t** to = scratch.rows + block_ * shape_.taps;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = tile.rows[i] == zeros_.data() ? zeros_.data() : tile.rows[i] + channels;
    }
    return to;
  }

  RescaleTile rescale_of(const RunFrame& frame, const FilterPanel& panel, std::size_t index) const {
    const auto at = [&](const Place& place) {
      const std::int64_t channel_bytes =
          place.storage == FilterStorage::s32  ? panel.first_output * 4
          : place.storage == FilterStorage::u4 ? panel.first_output / 2
                                               : panel.first_output;
      return reinterpret_cast<std::uint8_t*>(frame.arena + place.offset) + channel_bytes;
    };
    RescaleTile tile{.columns = static_cast<int>(panel.outputs),
                     .multiplier = filters_.multiplier(index),
                     .shift = spec_.shift,
                     .low = static_cast<std::int32_t>(spec_.low),
                     .high = static_cast<std::int32_t>(spec_.high),
                     .zero = spec_.out.zero,
                     .is_wide = spec_.is_wide,
                     .storage = spec_.out.storage,
                     .out = at(spec_.out),
                     .stride = spec_.out.stride};
    if (spec_.addend.is_stored()) {
      tile.addend = {.storage = spec_.addend.storage,
                     .data = at(spec_.addend),
                     .stride = spec_.addend.stride,
                     .multiplier = filters_.addend_multiplier(index),
                     .shift = spec_.addend_shift,
                     .zero = spec_.addend.zero};
    }
    return tile;
  }

  ProductSpec spec_;
  std::int64_t pixel_bytes_;  // of the input, expanded
  FilterShape shape_;
  PackedFilters filters_;
  std::int64_t block_;  // pixels
  std::vector<std::uint8_t> zeros_;
  std::vector<Tap> taps_;
};

}  // namespace

std::unique_ptr<EngineStep> make_product_step(ProductSpec spec) {
  return std::make_unique<ProductStep>(std::move(spec));
}

}  // namespace nibble
