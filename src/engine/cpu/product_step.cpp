// SPDX-License-Identifier: Apache-2.0
// Runs convolutions and linear layers: blocks of pixels × panels of outputs, tile by tile.
#include "engine/cpu/product_step.h"

#include <algorithm>

#include "core/checked.h"
#include "engine/cpu/packed_filters.h"
#include "engine/cpu/pool_steps.h"
#include "engine/cpu/window_matrix.h"
#include "engine/cpu/window_rows.h"
#include "kernels/engine/engine_kernels.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kBlockBytes = 224 << 10;   // of a block's input: it shares L2 with weights
constexpr std::int64_t kMatrixBytes = 256 << 10;  // the same, where a block is a matrix
constexpr std::int64_t kLeastBlock = 48;          // pixels
constexpr std::int64_t kMostBlock = 256;
constexpr std::int64_t kAlone = 4;  // times as much for a worker by itself: packed weights are
                                    // expanded for every block
constexpr std::int64_t kPooledBytes = 32 << 10;  // of outputs that wait for their pool
constexpr std::int64_t kMostTapRows = 4 << 20;   // under the kernels of a block's outputs
constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) {
  return checked_round_up(bytes, kAlign);
}

// Of so many things, each of that many bytes.
std::size_t aligned_bytes(std::int64_t count, std::size_t each) {
  return aligned(checked_product(static_cast<std::size_t>(count), each));
}

FilterShape shape_of(const ProductSpec& spec, bool has_matrix) {
  const Conv2d& window = spec.window;
  const std::int64_t pixel_bytes = pixel_bytes_of(spec.in);
  if (spec.is_linear) {
    return {.depth = (spec.in.pixels() * pixel_bytes + 3) / 4 * 4, .is_matrix = has_matrix};
  }
  if (spec.in.border > 0 || pixel_bytes % 4 != 0) {  // thin: a row of the kernel is one run
    const bool overlaps = has_matrix && window.dilation.x == 1 && windows_overlap(spec);
    return {.taps = window.kernel.y,
            .depth = checked_round_up(window.kernel.x * pixel_bytes, overlaps ? kFilterRun : 4),
            .tap_columns = window.kernel.x,
            .is_matrix = has_matrix};
  }
  const std::int64_t groups = panel_groups_of(window);
  return {.taps = window.kernel.y * window.kernel.x,
          .depth = (spec.in.channels / window.groups * groups + 3) / 4 * 4,
          .panel_groups = groups,
          .is_matrix = has_matrix};
}

// Pixels of y in a block, `usual` outputs or what the tuning says, but fewer where kernels have
// very many taps.
std::int64_t block_of(const ProductSpec& spec, const FilterShape& shape, std::int64_t usual) {
  const std::int64_t outputs = spec.cut.pixels > 0 ? spec.cut.pixels : usual;
  const std::int64_t most = kMostTapRows / shape.taps;
  return std::max<std::int64_t>(std::min(outputs, most) / (spec.meeting.y * spec.meeting.x), 1);
}

class ProductStep final : public CpuStep {
 public:
  explicit ProductStep(ProductSpec spec)
      : spec_(std::move(spec)),
        path_(engine_kernels()),
        has_matrix_(path_.multiply_matrix != nullptr && spec_.window.groups == 1),
        shape_(shape_of(spec_, has_matrix_)),
        filters_(spec_, shape_),
        input_(spec_),
        matrix_(spec_, shape_),
        rows_(spec_, shape_),
        outputs_(spec_.meeting.y * spec_.meeting.x),
        block_(block_of(spec_, shape_, usual_outputs(kAlone))),
        shared_block_(block_of(spec_, shape_, usual_outputs(1))),
        pool_(spec_.pool, spec_.out, spec_.pooled) {
    spec_.weights = std::vector<std::int8_t>();  // packed now
  }

  std::string shape() const override { return spec_.shape; }
  bool is_wide() const override { return spec_.finish.is_wide; }
  std::size_t weight_bytes() const override { return filters_.weight_bytes(); }

  std::size_t scratch_bytes() const override {
    return checked_sum(found_bytes(), expanded_panel_bytes(), unpooled_bytes(),
                       expanded_input_bytes(), copied_bytes());
  }

  void run(const RunFrame& frame) const override {
    if (spec_.pooled.is_stored()) return run_pooled(frame);
    const Job job = job_of(frame);
    std::ranges::fill(frame.marks, -1);
    frame.team.run(job.blocks * job.panel_groups, [&](int worker, std::int64_t task) {
      const auto w = static_cast<std::size_t>(worker);
      run_task(job, cut(frame.scratch[w]), frame.marks[w], task);
    });
  }

 private:
  struct Scratch {
    FilterMatrix* matrix;  // of a block; where there is none:
    std::int32_t* sums;
    const std::uint8_t** rows;
    FilterPiece* pieces;  // by tile
    std::int8_t* panel;
    std::uint8_t* unpooled;
    std::uint8_t* input;
    std::uint8_t* copies;
  };

  // Tasks of one block come one after another, so that a worker looks at each block once.
  struct Job {
    const RunFrame& frame;
    std::int64_t blocks = 0;
    std::int64_t panel_groups = 0;
    std::uint8_t* out = nullptr;  // of pixel 0 of picture 0
  };

  Job job_of(const RunFrame& frame) const {
    const std::int64_t units = frame.batch * spec_.out.pixels() / unit();
    const std::int64_t per_block = units_of(frame.team.workers() == 1 ? block_ : shared_block_);
    const std::int64_t blocks = (units + per_block - 1) / per_block;
    const auto panels = static_cast<std::int64_t>(filters_.panels().size());
    const std::int64_t wanted = frame.team.workers() * kTasksPerWorker;
    const std::int64_t groups = frame.team.workers() == 1 ? 1 : (wanted + blocks - 1) / blocks;
    return {frame, blocks, std::clamp<std::int64_t>(groups, 1, panels),
            reinterpret_cast<std::uint8_t*>(frame.arena + spec_.out.offset)};
  }

  // Pixels that a block has whole: rows, where several fit.
  std::int64_t unit() const {
    return matrix_.overlaps() || spec_.out.width * 2 <= shared_block_ ? spec_.out.width : 1;
  }
  std::int64_t units_of(std::int64_t pixels) const {
    return std::max<std::int64_t>(pixels / unit(), 1);
  }

  // Of a block, `times` as many as where workers share a batch.
  std::int64_t usual_outputs(std::int64_t times) const {
    const std::int64_t most =
        has_matrix_ ? kMatrixBytes / matrix_.bytes_of_output() : kBlockBytes / shape_.depth;
    return std::clamp(times * most, kLeastBlock, times * kMostBlock);
  }

  // Where a block's windows are.
  std::size_t found_bytes() const {
    return has_matrix_ ? aligned(sizeof(FilterMatrix))
                       : checked_sum(sums_bytes(), rows_bytes(), pieces_bytes());
  }
  std::size_t expanded_input_bytes() const {
    return matrix_.overlaps() ? 0 : aligned(input_.expanded_bytes(block_));
  }
  std::size_t copied_bytes() const {
    return has_matrix_ ? aligned(matrix_.copied_bytes(units_of(block_) * unit())) : 0;
  }
  std::size_t sums_bytes() const { return kFilterPixels * kFilterColumns * sizeof(std::int32_t); }
  std::size_t rows_bytes() const {
    // Those of a block, and of one tile for groups beyond the first.
    const std::int64_t tile = spec_.window.groups > 1 ? kFilterPixels : 0;
    return aligned_bytes(checked_product(block_ * outputs_ + tile, shape_.taps),
                         sizeof(const std::uint8_t*));
  }
  std::size_t pieces_bytes() const { return aligned_bytes(block_, sizeof(FilterPiece)); }
  std::size_t expanded_panel_bytes() const {
    return filters_.is_packed() ? aligned(filters_.largest_panel()) : 0;
  }
  // Rows of the pool at a time, and the rows of outputs that they need.
  std::int64_t pooled_rows() const {
    const std::int64_t most = kPooledBytes / spec_.out.row_bytes() - spec_.pool.kernel.y;
    return std::max<std::int64_t>(most / spec_.pool.stride.y + 1, 1);
  }
  std::size_t unpooled_bytes() const {
    if (!spec_.pooled.is_stored()) return 0;
    const std::int64_t rows =
        checked_sum(checked_product(pooled_rows() - 1, spec_.pool.stride.y), spec_.pool.kernel.y);
    return aligned_bytes(std::min(rows, spec_.out.height),
                         static_cast<std::size_t>(spec_.out.row_bytes()));
  }

  Scratch cut(std::byte* memory) const {
    Scratch scratch{};
    scratch.matrix = reinterpret_cast<FilterMatrix*>(memory);
    scratch.sums = reinterpret_cast<std::int32_t*>(memory);
    scratch.rows = reinterpret_cast<const std::uint8_t**>(memory + sums_bytes());
    scratch.pieces = reinterpret_cast<FilterPiece*>(memory + sums_bytes() + rows_bytes());
    memory += found_bytes();
    scratch.panel = reinterpret_cast<std::int8_t*>(memory);
    memory += expanded_panel_bytes();
    scratch.unpooled = reinterpret_cast<std::uint8_t*>(memory);
    memory += unpooled_bytes();
    scratch.input = reinterpret_cast<std::uint8_t*>(memory);
    memory += expanded_input_bytes();
    scratch.copies = reinterpret_cast<std::uint8_t*>(memory);
    return scratch;
  }

  void run_task(const Job& job, const Scratch& scratch, std::int64_t& mark,
                std::int64_t task) const {
    const std::int64_t block = task / job.panel_groups;
    const std::int64_t group = task % job.panel_groups;
    const std::int64_t units = job.frame.batch * spec_.out.pixels() / unit();
    // Blocks of the same size, but for one unit.
    const PixelSpan span =
        span_of(units * block / job.blocks * unit(), units * (block + 1) / job.blocks * unit());
    if (mark != block) {
      find_windows(job, scratch, span);
      mark = block;
    }
    const auto panels = static_cast<std::int64_t>(filters_.panels().size());
    const std::int64_t end = panels * (group + 1) / job.panel_groups;
    for (std::int64_t panel = panels * group / job.panel_groups; panel < end; ++panel) {
      run_panel(job, scratch, span, static_cast<std::size_t>(panel));
    }
  }

  PixelSpan span_of(std::int64_t first, std::int64_t end) const {
    return {first, end - first, path_.pixels[filters_.panels().front().blocks] / outputs_};
  }

  void find_windows(const Job& job, const Scratch& scratch, const PixelSpan& span) const {
    if (has_matrix_) {
      *scratch.matrix = matrix_.find(path_, job.frame.arena, span, scratch.input, scratch.copies);
    } else {
      const std::uint8_t* base = input_.base(path_, job.frame.arena, span, scratch.input);
      rows_.find(base, span, scratch.rows, scratch.pieces);
    }
  }

  // Parts of pictures, so that every worker has some.
  void run_pooled(const RunFrame& frame) const {
    const std::int64_t wanted = frame.team.workers() * kTasksPerWorker;
    const std::int64_t parts =
        frame.team.workers() == 1
            ? 1
            : std::clamp<std::int64_t>((wanted + frame.batch - 1) / frame.batch, 1,
                                       spec_.pooled.height);
    frame.team.run(frame.batch * parts, [&](int worker, std::int64_t task) {
      const std::int64_t part = task % parts;
      const Scratch scratch = cut(frame.scratch[static_cast<std::size_t>(worker)]);
      Job job{frame};
      run_pooled_rows(job, scratch, task / parts, spec_.pooled.height * part / parts,
                      spec_.pooled.height * (part + 1) / parts);
    });
  }

  // Rows y to end of the pool, whose windows share none of the outputs' rows.
  void run_pooled_rows(Job& job, const Scratch& scratch, std::int64_t image, std::int64_t y,
                       std::int64_t end) const {
    const std::int64_t row_bytes = spec_.out.row_bytes();
    auto* to = reinterpret_cast<std::uint8_t*>(job.frame.arena + spec_.pooled.offset);
    while (y < end) {
      const std::int64_t next = std::min(end, y + pooled_rows());
      const std::int64_t first = pool_.first_row(y);
      job.out = scratch.unpooled - (image * spec_.out.height + first) * row_bytes;
      run_rows(job, scratch, image, first, pool_.end_row(next - 1));
      for (; y < next; ++y) {
        pool_.run_row(path_, scratch.unpooled - first * row_bytes, y,
                      to + spec_.pooled.at(image, y, 0));
      }
    }
  }

  // All outputs of some rows of a picture.
  void run_rows(const Job& job, const Scratch& scratch, std::int64_t image, std::int64_t y,
                std::int64_t end) const {
    const std::int64_t first = (image * spec_.out.height + y) * spec_.out.width;
    const std::int64_t units = (end - y) * spec_.out.width / unit();
    const std::int64_t per_block = units_of(block_);
    const std::int64_t blocks = (units + per_block - 1) / per_block;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const PixelSpan span =
          span_of(first + units * b / blocks * unit(), first + units * (b + 1) / blocks * unit());
      find_windows(job, scratch, span);
      for (std::size_t p = 0; p < filters_.panels().size(); ++p) run_panel(job, scratch, span, p);
    }
  }

  void run_panel(const Job& job, const Scratch& scratch, const PixelSpan& span,
                 std::size_t index) const {
    const FilterPanel& panel = filters_.panels()[index];
    const auto* weights = reinterpret_cast<const std::int8_t*>(filters_.weights(panel));
    if (filters_.is_packed()) {
      path_.expand_s4(filters_.weights(panel), scratch.panel,
                      static_cast<std::int64_t>(panel.bytes / 128));
      weights = scratch.panel;
    }
    FilterTile tile{.weights = weights,
                    .bias = filters_.bias(index),
                    .sums = scratch.sums,
                    .taps = shape_.taps,
                    .depth = shape_.depth,
                    .blocks = panel.blocks,
                    .ahead = filters_.behind(index)};
    RescaleTile rescale = rescale_of(spec_, filters_, index, job.frame.arena, job.out);
    rescale.sums = scratch.sums;
    rescale.window = static_cast<int>(outputs_);
    advance_tile(rescale, span.first);
    if (has_matrix_) return path_.multiply_matrix(*scratch.matrix, tile, rescale);
    const std::span pieces(scratch.pieces, static_cast<std::size_t>(span.tiles()));
    if (path_.multiply_rescale != nullptr && panel.first_channel == 0) {
      return path_.multiply_rescale(tile, rescale, pieces);
    }
    for (const FilterPiece& piece : pieces) {
      tile = piece.of(tile);
      if (panel.first_channel != 0) tile.rows = shifted_rows(scratch, tile, panel.first_channel);
      path_.multiply(tile);
      tile.weights = weights;
      rescale.pixels = piece.pixels / rescale.window;
      path_.rescale(rescale);
      advance_tile(rescale, rescale.pixels);
    }
  }

  // The rows of a later group, behind the others.
  const std::uint8_t* const* shifted_rows(const Scratch& scratch, const FilterTile& tile,
                                          std::int64_t channels) const {
    const std::int64_t count = tile.pixels * tile.taps;
    const std::uint8_t** to = scratch.rows + block_ * outputs_ * shape_.taps;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = tile.rows[i] == rows_.zeros() ? tile.rows[i] : tile.rows[i] + channels;
    }
    return to;
  }

  ProductSpec spec_;
  const EngineKernels& path_;  // rows or a matrix: the memory of a run is for one of them
  bool has_matrix_;
  FilterShape shape_;
  PackedFilters filters_;
  WindowInput input_;
  WindowMatrix matrix_;
  WindowRows rows_;
  std::int64_t outputs_;  // of a pixel of y
  std::int64_t block_;    // pixels of y; where several workers take blocks of one batch:
  std::int64_t shared_block_;
  MaxPoolRows pool_;
};

}  // namespace

std::unique_ptr<CpuStep> make_product_step(ProductSpec spec) {
  return std::make_unique<ProductStep>(std::move(spec));
}

}  // namespace nibble::inline engine
