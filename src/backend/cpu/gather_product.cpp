// SPDX-License-Identifier: Apache-2.0
// Sums over the meetings of every pixel, tile by tile.
#include "backend/cpu/gather_product.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "kernels/products/product_kernels.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::int64_t kWidest = PackedWeights::kBlock;
constexpr std::int64_t kSerialWork = 1 << 20;  // products that one thread does sooner than two
constexpr std::int64_t kPixelsAtOnce = 32;     // of one task: the block's panels stay in cache

template <class Sum>
using Tile = std::array<Sum, static_cast<std::size_t>(kGroup* kWidest)>;

// What a task needs of the whole product.
struct Task {
  std::int64_t group;
  std::int64_t block;
  std::int64_t begin;  // pixels
  std::int64_t end;
};

class Runner {
 public:
  Runner(const GatherProduct& product, const RoundingJob& job)
      : product_(product),
        job_(job),
        path_(product_kernels()),
        is_wide_(product.is_wide()),
        pool_(product.pool != nullptr ? *product.pool : own_) {
    sum_source();
  }

  SumsOutcome run() {
    const std::int64_t pixels = product_.meetings.pixels();
    const std::int64_t groups = product_.result.groups();
    if (groups == 0) return {};  // a rank without images
    const std::int64_t blocks = product_.weights.blocks();
    // Few groups and blocks: smaller pieces, so that all threads have some.
    const std::int64_t wanted = 4 * thread_count();
    const std::int64_t pieces = std::max<std::int64_t>(1, (wanted - 1) / (groups * blocks) + 1);
    const std::int64_t piece = std::clamp<std::int64_t>(pixels / pieces, 1, kPixelsAtOnce);
    const std::int64_t per_block = (pixels - 1) / piece + 1;
    SumsOutcome all;
    std::mutex mutex;
    const auto run_one = [&](std::size_t index) {
      const auto at = static_cast<std::int64_t>(index);
      const std::int64_t begin = at % per_block * piece;
      const SumsOutcome outcome = run_task({at / per_block / blocks, at / per_block % blocks, begin,
                                            std::min(begin + piece, pixels)});
      const std::lock_guard lock(mutex);
      all.join(outcome);
    };
    const auto tasks = static_cast<std::size_t>(groups * blocks * per_block);
    const std::int64_t work = groups * kGroup * product_.meetings.size() *
                              product_.weights.depth() * product_.weights.columns();
    if (work < kSerialWork) {
      for (std::size_t index = 0; index < tasks; ++index) run_one(index);
    } else {
      parallel_tasks(tasks, run_one);
    }
    return all;
  }

 private:
  // The paths that read row sums get those of every pixel of the source.
  void sum_source() {
    if (!path_.needs_sums()) return;
    const BlockTensor& source = product_.source;
    const std::int64_t rows = source.groups() * source.picture.pixels() * kGroup;
    sum_memory_ = pool_.take<std::int32_t>(rows);
    sums_ = sum_memory_.as<std::int32_t>();
    constexpr std::size_t kRows = 1024;
    parallel_for(static_cast<std::size_t>(rows), kRows, [&](std::size_t begin, std::size_t end) {
      const std::int64_t stride = source.picture.stride();
      path_.sums(source.data + static_cast<std::int64_t>(begin) * stride,
                 static_cast<std::int64_t>(end - begin), product_.weights.depth(), stride,
                 sums_ + begin);
    });
  }

  SumsOutcome run_task(const Task& task) const {
    SumsOutcome outcome;
    Tile<std::int32_t> tile{};
    std::vector<ProductTerm> terms;
    for (std::int64_t pixel = task.begin; pixel < task.end; ++pixel) {
      list_terms(task, pixel, terms);
      const TilePlace place{
          .result = product_.result,
          .group = task.group,
          .pixel = pixel,
          .column = product_.first_column + task.block * kWidest,
          .columns = std::min(kWidest, product_.weights.columns() - task.block * kWidest),
          .first_image = product_.first_image};
      if (is_wide_) {
        outcome.join(run_wide(task, terms, tile, place));
        continue;
      }
      fill(tile, place);
      multiply(task, terms, tile, !product_.addend.empty());
      outcome.join(round_tile(job_, tile.data(), kWidest, place));
    }
    return outcome;
  }

  void list_terms(const Task& task, std::int64_t pixel, std::vector<ProductTerm>& terms) const {
    terms.clear();
    const BlockTensor& source = product_.source;
    for (const TapSource& each : product_.meetings.of(pixel)) {
      const std::int64_t row = (task.group * source.picture.pixels() + each.source) * kGroup;
      terms.push_back({source.at(task.group, each.source),
                       product_.weights.panel(each.tap, task.block),
                       sums_ == nullptr ? nullptr : sums_ + row});
    }
  }

  template <class Sum>
  void fill(Tile<Sum>& tile, const TilePlace& place) const {
    if (product_.addend.empty()) return;
    for (std::int64_t r = 0; r < kGroup; ++r) {
      for (std::int64_t c = 0; c < place.columns; ++c) {
        tile[static_cast<std::size_t>(r * kWidest + c)] = static_cast<Sum>(
            product_.addend[static_cast<std::size_t>(place.column - product_.first_column + c)]);
      }
    }
  }

  void multiply(const Task& task, std::span<const ProductTerm> terms, Tile<std::int32_t>& tile,
                bool accumulates) const {
    const std::int64_t width = product_.weights.width(task.block);
    if (terms.empty() && !accumulates) return tile.fill(0);
    path_.multiply(terms, {.depth = product_.weights.depth(),
                           .a_stride = product_.source.picture.stride(),
                           .b_stride = width * 4,
                           .column_blocks = static_cast<int>(width / kProductColumns),
                           .c = tile.data(),
                           .c_stride = kWidest,
                           .accumulates = accumulates});
  }

  // Depths begin to begin + count of every term; sums of rows are those of the piece.
  void multiply_piece(const Task& task, std::span<const ProductTerm> terms, std::int64_t begin,
                      std::int64_t count, Tile<std::int32_t>& tile) const {
    if (count == product_.weights.depth()) return multiply(task, terms, tile, false);
    const std::int64_t width = product_.weights.width(task.block);
    const std::int64_t stride = product_.source.picture.stride();
    std::array<std::int32_t, static_cast<std::size_t>(kGroup)> sums{};
    ProductTerm piece = terms.front();
    piece.a += begin;
    piece.b += begin / 4 * width * 4;
    piece.a_sums = sums.data();
    if (path_.needs_sums()) path_.sums(piece.a, kGroup, count, stride, sums.data());
    path_.multiply({&piece, 1}, {.depth = count,
                                 .a_stride = stride,
                                 .b_stride = width * 4,
                                 .column_blocks = static_cast<int>(width / kProductColumns),
                                 .c = tile.data(),
                                 .c_stride = kWidest,
                                 .accumulates = false});
  }

  // As many terms at once as 32 bits hold, their sums in 64; a term too deep for that in pieces.
  SumsOutcome run_wide(const Task& task, std::span<const ProductTerm> terms,
                       Tile<std::int32_t>& tile, const TilePlace& place) const {
    const std::int64_t depth = product_.weights.depth();
    const auto at_once =
        static_cast<std::size_t>(std::max<std::int64_t>(1, product_.safe_terms / depth));
    const std::int64_t piece =
        std::min(depth, std::max<std::int64_t>(4, product_.safe_terms / 4 * 4));
    Tile<std::int64_t> wide{};
    for (std::size_t begin = 0; begin < terms.size(); begin += at_once) {
      const auto some = terms.subspan(begin, std::min(at_once, terms.size() - begin));
      for (std::int64_t k = 0; k < depth; k += piece) {
        multiply_piece(task, some, k, std::min(piece, depth - k), tile);
        for (std::size_t i = 0; i < wide.size(); ++i) wide[i] += tile[i];
      }
    }
    for (std::int64_t& sum : wide) sum *= std::int64_t{1} << product_.lift;
    Tile<std::int64_t> added{};
    fill(added, place);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] += added[i];
    return round_tile(job_, wide.data(), kWidest, place);
  }

  const GatherProduct& product_;
  const RoundingJob& job_;
  const ProductKernels& path_;
  bool is_wide_;
  BufferPool own_;
  BufferPool& pool_;
  Buffer sum_memory_;
  std::int32_t* sums_ = nullptr;
};

}  // namespace

bool GatherProduct::is_wide() const {
  constexpr std::int64_t kLargest = 127 * 127;
  const std::int64_t terms = meetings.most() * weights.depth();
  if (lift > 0 || terms > safe_terms) return true;
  std::int64_t most = 0;
  for (const std::int64_t each : addend) most = std::max(most, each < 0 ? -each : each);
  return most > INT32_MAX - terms * kLargest;
}

SumsOutcome GatherProduct::run(const RoundingJob& job) const {
  return Runner(*this, job).run();
}

}  // namespace nibble::inline backend
