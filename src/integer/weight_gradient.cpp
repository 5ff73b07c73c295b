// SPDX-License-Identifier: Apache-2.0
// Sums products of errors and inputs over images and pixels, tile by tile.
#include "integer/weight_gradient.h"

#include <algorithm>
#include <array>

#include "integer/gradient_operands.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/integer_loops.h"
#include "nibble/kernels/product8.h"

namespace nibble {
namespace {

constexpr std::int64_t kWidest = PackedWeights::kBlock;
constexpr std::int64_t kCacheBytes = 256 * 1024;  // of inputs that one pass over taps reads

class Runner {
 public:
  Runner(const WeightGradient& gradient, GradientSums& sums)
      : gradient_(gradient),
        sums_(sums),
        pool_(gradient.pool != nullptr ? *gradient.pool : own_),
        rows_(gradient.error, pool_),
        columns_(gradient.input, pool_) {}

  void run() {
    const std::int64_t taps = gradient_.shape.taps;
    const std::int64_t blocks = rows_.rows() / kGroup;
    // Tasks share nothing they write: each has some blocks of rows and some taps.
    const std::int64_t wanted = 3 * thread_count();
    std::int64_t tap_parts = 1;
    std::int64_t row_parts = std::min(blocks, wanted);
    if (row_parts < wanted) tap_parts = std::min(taps, (wanted - 1) / row_parts + 1);
    parallel_tasks(static_cast<std::size_t>(row_parts * tap_parts), [&](std::size_t index) {
      const auto at = static_cast<std::int64_t>(index);
      const std::int64_t row_part = at / tap_parts;
      const std::int64_t tap_part = at % tap_parts;
      run_task({blocks * row_part / row_parts, blocks * (row_part + 1) / row_parts,
                taps * tap_part / tap_parts, taps * (tap_part + 1) / tap_parts});
    });
  }

 private:
  struct Task {
    std::int64_t first_block;
    std::int64_t last_block;
    std::int64_t first_tap;
    std::int64_t last_tap;
  };

  // Sums of the task's rows and taps, [row][tap][column], with columns filled up.
  void run_task(const Task& task) const {
    const std::int64_t taps = task.last_tap - task.first_tap;
    const std::int64_t row_values = taps * columns_.columns();
    const std::int64_t rows = (task.last_block - task.first_block) * kGroup;
    thread_local std::vector<std::int32_t> sums;
    sums.assign(static_cast<std::size_t>(rows * row_values), 0);
    const std::int64_t pixels = gradient_.error.picture.pixels();
    const std::int64_t at_once =
        std::clamp<std::int64_t>(kCacheBytes / (columns_.columns() * kBundle), 1, pixels);
    std::int64_t summed = 0;  // terms in `sums`
    for (std::int64_t bundle = 0; bundle < bundles_of(gradient_.error.images); ++bundle) {
      for (std::int64_t begin = 0; begin < pixels; begin += at_once) {
        const std::int64_t end = std::min(begin + at_once, pixels);
        const std::int64_t terms = (end - begin) * kBundle;
        if (sums_.is_wide && summed + terms > gradient_.safe_terms) {
          flush(task, sums);
          summed = 0;
        }
        add_pixels(task, bundle, begin, end, sums);
        summed += terms;
      }
    }
    flush(task, sums);
  }

  void add_pixels(const Task& task, std::int64_t bundle, std::int64_t begin, std::int64_t end,
                  std::vector<std::int32_t>& sums) const {
    const std::int64_t taps = task.last_tap - task.first_tap;
    const std::int64_t row_values = taps * columns_.columns();
    std::vector<ProductTerm> terms;
    for (std::int64_t column = 0; column < columns_.columns(); column += kWidest) {
      const std::int64_t width = std::min(kWidest, columns_.columns() - column);
      for (std::int64_t tap = task.first_tap; tap < task.last_tap; ++tap) {
        const std::span<const Pair> pairs = gradient_.meetings.at_tap(tap);
        const auto first = std::ranges::lower_bound(pairs, begin, {}, &Pair::result);
        const auto last = std::ranges::lower_bound(pairs, end, {}, &Pair::result);
        if (first == last) continue;
        for (std::int64_t block = task.first_block; block < task.last_block; ++block) {
          terms.clear();
          for (auto pair = first; pair != last; ++pair) {
            terms.push_back({rows_.at(bundle, pair->result, block * kGroup),
                             columns_.at(bundle, pair->source, column),
                             rows_.sums(bundle, pair->result, block * kGroup)});
          }
          const std::int64_t row = (block - task.first_block) * kGroup;
          product8_path().multiply(terms,
                                   {.depth = images_of_bundle(gradient_.error, bundle),
                                    .a_stride = kBundle,
                                    .b_stride = columns_.columns() * 4,
                                    .column_blocks = static_cast<int>(width / kProductColumns),
                                    .c = sums.data() + row * row_values +
                                         (tap - task.first_tap) * columns_.columns() + column,
                                    .c_stride = row_values,
                                    .accumulates = true});
        }
      }
    }
  }

  // Into the result, without what only fills up; `sums` starts anew.
  void flush(const Task& task, std::vector<std::int32_t>& sums) const {
    const WeightShape& shape = gradient_.shape;
    const std::int64_t taps = task.last_tap - task.first_tap;
    const std::int64_t outs_of_group = shape.out / shape.groups;
    const std::int64_t last = std::min(task.last_block * kGroup, shape.out);
    for (std::int64_t out = task.first_block * kGroup; out < last; ++out) {
      for (std::int64_t tap = task.first_tap; tap < task.last_tap; ++tap) {
        const std::int64_t row = out - task.first_block * kGroup;
        const std::int32_t* from = sums.data() +
                                   (row * taps + tap - task.first_tap) * columns_.columns() +
                                   out / outs_of_group * shape.in;
        const std::int64_t to = (out * shape.taps + tap) * shape.in;
        if (sums_.is_wide) {
          integer_loops().add_sums(sums_.wide.data() + to, from,
                                   static_cast<std::size_t>(shape.in));
        } else {
          std::copy_n(from, shape.in, sums_.narrow.data() + to);
        }
      }
    }
    if (sums_.is_wide) std::ranges::fill(sums, 0);
  }

  const WeightGradient& gradient_;
  GradientSums& sums_;
  BufferPool own_;
  BufferPool& pool_;
  ErrorRows rows_;
  InputColumns columns_;
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
  Runner(*this, sums).run();
}

void bias_gradient(const BlockTensor& error, std::int64_t all_images, GradientSums& sums) {
  constexpr std::int64_t kSafeErrors = INT32_MAX / 127;
  const std::int64_t channels = error.picture.channels;
  prepare(sums, channels, all_images * error.picture.pixels() > kSafeErrors);
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

}  // namespace nibble
