// SPDX-License-Identifier: Apache-2.0
// Operations a second of the int8 product on one core, beside what the machine could do at most.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <vector>

#include "kernels/integer_paths.h"
#include "kernels/products/peak.h"

namespace nibble::inline kernels {
namespace {

struct Shape {
  int depth = 0;
  int terms = 0;
  int column_blocks = kProductBlocks;
};

// Layers of VGG, a weight gradient, thin and narrow ones.
constexpr Shape kShapes[] = {{128, 9}, {256, 9}, {512, 9},    {64, 1024},
                             {64, 9},  {16, 9},  {128, 9, 1}, {128, 9, 3}};

class Problem {
 public:
  Problem(const Shape& shape, const ProductKernels& path)
      : a_(bytes(shape.terms * kProductRows, shape.depth)),
        b_(bytes(shape.terms * 16 * shape.column_blocks, shape.depth)),
        flipped_(b_),
        sums_(static_cast<std::size_t>(shape.terms * kProductRows)),
        c_(static_cast<std::size_t>(kProductRows * 16 * shape.column_blocks)),
        tile_{.depth = shape.depth,
              .a_stride = shape.depth,
              .b_stride = 64 * shape.column_blocks,
              .column_blocks = shape.column_blocks,
              .c = c_.data(),
              .c_stride = 16 * shape.column_blocks} {
    for (auto& x : flipped_) x = static_cast<std::int8_t>(x ^ path.b_flip);
    const std::int64_t rows = std::int64_t{shape.terms} * kProductRows;
    if (path.needs_sums()) path.sums(a_.data(), rows, shape.depth, shape.depth, sums_.data());
    for (std::int64_t t = 0; t < shape.terms; ++t) {
      const std::int64_t b_at = t * shape.depth * 16 * shape.column_blocks;
      terms_.push_back({a_.data() + t * kProductRows * shape.depth, flipped_.data() + b_at,
                        sums_.data() + t * kProductRows});
      plain_terms_.push_back({terms_.back().a, b_.data() + b_at, nullptr});
    }
  }

  std::int64_t operations() const { return 2 * std::ssize(c_) * tile_.depth * std::ssize(terms_); }
  void multiply(const ProductKernels& path) { path.multiply(terms_, tile_); }
  TileOutcome requantize(const ProductKernels& path) {
    return path.requantize({.c = c_.data(),
                            .c_stride = tile_.c_stride,
                            .rows = kProductRows,
                            .columns = static_cast<int>(tile_.c_stride),
                            .shift = 12,
                            .out = out_,
                            .out_stride = tile_.c_stride});
  }

  bool is_right(const ProductKernels& path) {
    multiply(path);
    const std::vector<std::int32_t> got = c_;
    reference::kProductKernels.multiply(plain_terms_, tile_);
    return got == c_;
  }

 private:
  static std::vector<std::int8_t> bytes(int rows, int depth) {
    std::mt19937 bits(1);
    std::vector<std::int8_t> result(static_cast<std::size_t>(rows) *
                                    static_cast<std::size_t>(depth));
    for (auto& x : result) x = static_cast<std::int8_t>(static_cast<int>(bits() % 255) - 127);
    return result;
  }

  std::vector<std::int8_t> a_, b_, flipped_;
  std::vector<std::int32_t> sums_, c_;
  std::int8_t out_[kProductRows * 16 * kProductBlocks] = {};
  std::vector<ProductTerm> terms_, plain_terms_;
  ProductTile tile_;
};

template <class Body>
double seconds_of(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Operations a second of registers alone; 0 where nothing can say.
double peak_slice(Isa isa) {
  std::int64_t operations = 0;
  const double seconds = seconds_of([&] { operations = run_peak(isa); });
  return static_cast<double>(operations) / seconds;
}

// Neighbours on the machine come and go: short slices of both take turns, the best of each count.
bool measure(const Shape& shape, Isa isa, const ProductKernels& path) {
  constexpr int kSlices = 100;
  constexpr std::int64_t kSliceOperations = 400'000'000;
  Problem problem(shape, path);
  const bool right = problem.is_right(path);
  const std::int64_t calls = std::max<std::int64_t>(1, kSliceOperations / problem.operations());
  double peak = 0;
  double product = std::numeric_limits<double>::infinity();
  double rounding = product;
  for (int slice = 0; slice < kSlices; ++slice) {
    peak = std::max(peak, peak_slice(isa));
    product = std::min(product, seconds_of([&] {
                         for (std::int64_t i = 0; i < calls; ++i) problem.multiply(path);
                       }));
    rounding = std::min(rounding, seconds_of([&] {
                          for (std::int64_t i = 0; i < calls; ++i) problem.requantize(path);
                        }));
  }
  const double speed = static_cast<double>(calls * problem.operations()) / product;
  fmt::print("{:<11} depth {:3}, {:4} terms, {} blocks {:8.1f} GOP/s", name_of(isa), shape.depth,
             shape.terms, shape.column_blocks, speed * 1e-9);
  if (peak > 0) fmt::print(" {:5.1f} % of {:.1f}", 100 * speed / peak, peak * 1e-9);
  fmt::print(", requantize {:4.1f} % more time{}\n", 100 * rounding / product,
             right ? "" : "  WRONG");
  return right;
}

bool measure_all() {
  bool right = true;
  for (const auto& [isa, path] : supported_paths(kProductKernelPaths)) {
    if (isa == Isa::reference) continue;
    for (const Shape& shape : kShapes) right = measure(shape, isa, *path) && right;
  }
  return right;
}

}  // namespace
}  // namespace nibble::inline kernels

int main() {
  return nibble::measure_all() ? 0 : 1;
}
