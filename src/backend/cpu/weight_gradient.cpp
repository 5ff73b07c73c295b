// SPDX-License-Identifier: Apache-2.0
// Sums products of errors and inputs over images and pixels, tile by tile.
#include "backend/cpu/weight_gradient.h"

#include <algorithm>
#include <atomic>

#include "backend/cpu/gradient_operands.h"
#include "backend/cpu/gradient_split.h"
#include "backend/cpu/gradient_tiles.h"
#include "kernels/integer_loops/integer_loops.h"
#include "kernels/products/product_kernels.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::int64_t kPixelsOfStep = 32;  // their operands stay in the second cache
constexpr std::int64_t kMostShares = 3;     // of the steps: what the fastest thread may take

constexpr std::int64_t pieces_of(std::int64_t whole, std::int64_t piece) {
  return (whole - 1) / piece + 1;
}

class GradientRunner {
 public:
  GradientRunner(const WeightGradient& gradient, GradientSums& sums)
      : gradient_(gradient),
        sums_(sums),
        path_(product_kernels()),
        pool_(gradient.pool != nullptr ? *gradient.pool : own_),
        bundles_at_once_(bundles_at_once()),
        pixels_at_once_(std::clamp<std::int64_t>(gradient.safe_terms / kBundle, 1, kPixelsOfStep)),
        steps_of_bundle_(pieces_of(gradient.error.picture.pixels(), pixels_at_once_)),
        rows_(gradient.error, bundles_at_once_, pool_),
        columns_(gradient.input, bundles_at_once_, pool_),
        extent_{.row_blocks = rows_.rows() / kGroup,
                .column_blocks = columns_.blocks(),
                .taps = gradient.shape.taps,
                .terms = gradient.error.images * gradient.error.picture.pixels()},
        split_(split()),
        tiles_(extent_, split_.terms, pool_) {}

  void run() {
    const std::int64_t bundles = bundles_of(gradient_.error.images);
    for (std::int64_t first = 0; first < bundles; first += bundles_at_once_)
      add({first, std::min(bundles_at_once_, bundles - first)});
    write();
  }

 private:
  // What one task has: some blocks of rows and of columns, and a part of the terms.
  struct Part {
    std::int64_t first_row;
    std::int64_t last_row;
    std::int64_t first_column;
    std::int64_t last_column;
    std::int64_t term;
  };

  // Some pixels of a bundle.
  struct Step {
    std::int64_t bundle;  // of those turned
    std::int64_t images;
    std::int64_t begin;
    std::int64_t end;
  };

  std::int64_t bundles_at_once() const {
    const std::int64_t bytes =
        (gradient_.error.picture.elements() + gradient_.input.picture.elements()) * kBundle;
    const std::int64_t bundles = bundles_of(gradient_.error.images);
    const std::int64_t most = std::clamp<std::int64_t>(gradient_.turned_bytes / bytes, 1, bundles);
    return pieces_of(bundles, pieces_of(bundles, most));  // each time about as many
  }

  std::int64_t safe_steps() const {
    return std::max<std::int64_t>(1, gradient_.safe_terms / (pixels_at_once_ * kBundle));
  }

  // At least as many parts of the terms as keep what is turned at once within safe_terms.
  GradientSplit split() const {
    GradientSplit split = split_gradient(extent_, thread_count());
    split.terms =
        std::max(split.terms, pieces_of(bundles_at_once_ * steps_of_bundle_, safe_steps()));
    return split;
  }

  // Tasks of the same rows and columns take steps until none is left: no core waits for a slower
  // one.
  void add(Bundles bundles) {
    rows_.turn(bundles);
    columns_.turn(bundles);
    const std::int64_t steps = bundles.count * steps_of_bundle_;
    const std::int64_t most = std::min(kMostShares * pieces_of(steps, split_.terms), safe_steps());
    const std::int64_t terms = most * pixels_at_once_ * kBundle;
    if (sums_.is_wide && summed_ > 0 && summed_ + terms > gradient_.safe_terms) write();
    std::vector<std::atomic<std::int64_t>> next(
        static_cast<std::size_t>(split_.rows * split_.columns));
    parallel_tasks(static_cast<std::size_t>(split_.tasks()), [&](std::size_t task) {
      const Part part = part_of(static_cast<std::int64_t>(task));
      std::atomic<std::int64_t>& step = next[task % next.size()];
      for (std::int64_t taken = 0; taken < most; ++taken) {
        const std::int64_t index = step.fetch_add(1, std::memory_order_relaxed);
        if (index >= steps) break;
        add_step(part, step_of(bundles, index));
      }
    });
    summed_ += terms;
  }

  void write() {
    tiles_.write(gradient_.shape, sums_);
    summed_ = 0;
  }

  Part part_of(std::int64_t task) const {
    const std::int64_t cut = task % (split_.rows * split_.columns);
    const std::int64_t row = cut / split_.columns;
    const std::int64_t column = cut % split_.columns;
    return {extent_.row_blocks * row / split_.rows, extent_.row_blocks * (row + 1) / split_.rows,
            extent_.column_blocks * column / split_.columns,
            extent_.column_blocks * (column + 1) / split_.columns,
            task / (split_.rows * split_.columns)};
  }

  Step step_of(Bundles bundles, std::int64_t index) const {
    const std::int64_t bundle = index / steps_of_bundle_;
    const std::int64_t begin = index % steps_of_bundle_ * pixels_at_once_;
    return {bundle, images_of_bundle(gradient_.error, bundles.first + bundle), begin,
            std::min(begin + pixels_at_once_, gradient_.error.picture.pixels())};
  }

  // Calls body(row, column) for the blocks of the part.
  template <class Body>
  static void for_each_block(const Part& part, const Body& body) {
    for (std::int64_t row = part.first_row; row < part.last_row; ++row) {
      for (std::int64_t column = part.first_column; column < part.last_column; ++column)
        body(row, column);
    }
  }

  void add_step(const Part& part, const Step& step) {
    thread_local std::vector<ProductTerm> terms;
    for (std::int64_t tap = 0; tap < extent_.taps; ++tap) {
      const std::span<const Pair> pairs = gradient_.meetings.at_tap(tap);
      const auto first = std::ranges::lower_bound(pairs, step.begin, {}, &Pair::result);
      const auto last = std::ranges::lower_bound(pairs, step.end, {}, &Pair::result);
      if (first == last) {
        clear_unused(part, tap);
        continue;
      }
      for (std::int64_t column = part.first_column; column < part.last_column; ++column) {
        terms.clear();
        for (auto pair = first; pair != last; ++pair) {
          terms.push_back({rows_.at(step.bundle, pair->result, part.first_row * kGroup),
                           columns_.at(step.bundle, pair->source, column),
                           rows_.sums(step.bundle, pair->result, part.first_row * kGroup)});
        }
        add_terms(part, step, column, tap, terms);
      }
    }
    for_each_block(
        part, [&](std::int64_t row, std::int64_t column) { tiles_.use(part.term, row, column); });
  }

  void clear_unused(const Part& part, std::int64_t tap) const {
    for_each_block(part, [&](std::int64_t row, std::int64_t column) {
      if (!tiles_.is_used(part.term, row, column)) tiles_.clear(part.term, row, column, tap);
    });
  }

  // `terms` are those of the first block of rows.
  void add_terms(const Part& part, const Step& step, std::int64_t column, std::int64_t tap,
                 std::span<ProductTerm> terms) const {
    const std::int64_t width = columns_.width(column);
    for (std::int64_t row = part.first_row; row < part.last_row; ++row) {
      path_.multiply(terms, {.depth = step.images,
                             .a_stride = kBundle,
                             .b_stride = width * 4,
                             .column_blocks = static_cast<int>(width / kProductColumns),
                             .c = tiles_.at(part.term, row, column, tap),
                             .c_stride = GradientTiles::kColumns,
                             .accumulates = tiles_.is_used(part.term, row, column)});
      for (ProductTerm& term : terms) {
        term.a += kGroup * kBundle;
        if (term.a_sums != nullptr) term.a_sums += kGroup;
      }
    }
  }

  const WeightGradient& gradient_;
  GradientSums& sums_;
  const ProductKernels& path_;
  BufferPool own_;
  BufferPool& pool_;
  std::int64_t bundles_at_once_;
  std::int64_t pixels_at_once_;
  std::int64_t steps_of_bundle_;
  ErrorRows rows_;
  InputColumns columns_;
  GradientExtent extent_;
  GradientSplit split_;
  GradientTiles tiles_;
  std::int64_t summed_ = 0;  // terms in each tile, at most
};

void prepare(GradientSums& sums, std::int64_t elements, bool is_wide) {
  sums.is_wide = is_wide;
  const auto count = static_cast<std::size_t>(elements);
  sums.narrow.resize(is_wide ? 0 : count);
  sums.wide.assign(is_wide ? count : 0, 0);
}

}  // namespace

std::uint64_t GradientSums::largest() const {
  return is_wide ? integer_loops().max_magnitude64(wide.data(), wide.size())
                 : integer_loops().max_magnitude(narrow.data(), narrow.size());
}

void WeightGradient::run(GradientSums& sums) const {
  const std::int64_t terms = all_images * error.picture.pixels();
  prepare(sums, shape.elements(), terms > safe_terms);
  if (error.images == 0) {  // a rank without images
    std::ranges::fill(sums.narrow, 0);
    return;
  }
  GradientRunner(*this, sums).run();
}

void bias_gradient(const BlockTensor& error, std::int64_t all_images, GradientSums& sums) {
  constexpr std::int64_t kSafeErrors = INT32_MAX / 127;
  const std::int64_t channels = error.picture.channels;
  prepare(sums, channels, all_images * error.picture.pixels() > kSafeErrors);
  sums.exponent = error.exponent;
  std::vector<std::int64_t> totals(static_cast<std::size_t>(channels));
  const std::int64_t rows = error.groups() * error.picture.pixels() * kGroup;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int8_t* from = error.data + row * error.picture.stride();
    for (std::int64_t c = 0; c < channels; ++c) totals[static_cast<std::size_t>(c)] += from[c];
  }
  for (std::size_t c = 0; c < totals.size(); ++c) {
    if (sums.is_wide) {
      sums.wide[c] = totals[c];
    } else {
      sums.narrow[c] = static_cast<std::int32_t>(totals[c]);
    }
  }
}

}  // namespace nibble::inline backend
