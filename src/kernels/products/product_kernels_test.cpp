// SPDX-License-Identifier: Apache-2.0
// The int8 product on every path against the definition, bit for bit.
#include "kernels/products/product_kernels.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <numeric>
#include <random>
#include <vector>

#include "core/isa.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels {
namespace {

struct Shape {
  int depth = 4;
  int column_blocks = 1;
  int terms = 1;
  int a_gap = 0;  // what strides have beyond what they need
  int b_gap = 0;
  int c_gap = 0;
  bool accumulates = false;
};

// Values right before memory that nobody may read.
class LastValues {
 public:
  explicit LastValues(const std::vector<std::int8_t>& values)
      : room_((values.size() + kPage - 1) / kPage * kPage),
        memory_(::mmap(nullptr, room_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0)),
        begin_(static_cast<std::int8_t*>(memory_) + room_ - values.size()) {
    std::ranges::copy(values, begin_);
    ::mprotect(static_cast<std::int8_t*>(memory_) + room_, kPage, PROT_NONE);
  }
  ~LastValues() { ::munmap(memory_, room_ + kPage); }
  LastValues(const LastValues&) = delete;
  LastValues& operator=(const LastValues&) = delete;

  const std::int8_t* data() const { return begin_; }

 private:
  static constexpr std::size_t kPage = 65536;  // a multiple of every machine's

  std::size_t room_;
  void* memory_;
  std::int8_t* begin_;
};

// A tile with its terms, of buffers that end where the last value does.
class Problem {
 public:
  explicit Problem(const Shape& shape) : shape_(shape) {
    const int columns = shape.column_blocks * kProductColumns;
    tile_ = {.depth = shape.depth,
             .a_stride = shape.depth + shape.a_gap,
             .b_stride = columns * 4 + shape.b_gap,
             .column_blocks = shape.column_blocks,
             .c_stride = columns + shape.c_gap,
             .accumulates = shape.accumulates};
    const std::int64_t a_size = (kProductRows - 1) * tile_.a_stride + shape.depth;
    const std::int64_t b_size = (shape.depth / 4 - 1) * tile_.b_stride + columns * 4;
    for (int t = 0; t < shape.terms; ++t) {
      a_.emplace_back(static_cast<std::size_t>(a_size));
      b_.emplace_back(static_cast<std::size_t>(b_size));
    }
    c_.resize(static_cast<std::size_t>((kProductRows - 1) * tile_.c_stride + columns));
  }

  template <class Values>
  Problem& fill(Values&& values) {
    for (auto& a : a_) std::ranges::generate(a, values);
    for (auto& b : b_) std::ranges::generate(b, values);
    std::ranges::generate(c_, [&] { return values() * 1000; });
    return *this;
  }

  std::vector<std::int8_t>& a(int term) { return a_[static_cast<std::size_t>(term)]; }
  std::vector<std::int8_t>& b(int term) { return b_[static_cast<std::size_t>(term)]; }

  // All of c, what lies between its rows included.
  std::vector<std::int32_t> run(const ProductKernels& path) const {
    auto flipped = b_;
    std::vector<std::vector<std::int32_t>> sums(a_.size());
    std::deque<LastValues> rows;
    std::vector<ProductTerm> terms;
    for (std::size_t t = 0; t < a_.size(); ++t) {
      for (auto& x : flipped[t]) x = static_cast<std::int8_t>(x ^ path.b_flip);
      rows.emplace_back(a_[t]);
      terms.push_back({.a = rows.back().data(), .b = flipped[t].data()});
      if (!path.needs_sums()) continue;
      sums[t].resize(kProductRows);
      path.sums(a_[t].data(), kProductRows, tile_.depth, tile_.a_stride, sums[t].data());
      terms.back().a_sums = sums[t].data();
    }
    std::vector<std::int32_t> c = c_;
    ProductTile tile = tile_;
    tile.c = c.data();
    path.multiply(terms, tile);
    return c;
  }

  void expect_definition_everywhere() const {
    const std::vector<std::int32_t> expected = run(reference::kProductKernels);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      const std::vector<std::int32_t> got = run(product_kernels());
      reset_isa();
      ASSERT_EQ(last_isa_used(), best_path(kProductKernelPaths, isa).isa);
      ASSERT_EQ(got, expected) << name_of(isa) << ": depth " << shape_.depth << ", "
                               << shape_.column_blocks << " blocks, " << shape_.terms << " terms, "
                               << (shape_.accumulates ? "accumulates" : "overwrites");
    }
  }

 private:
  Shape shape_;
  ProductTile tile_;
  std::vector<std::vector<std::int8_t>> a_, b_;
  std::vector<std::int32_t> c_;
};

// Values of [-127, 127].
class Any {
 public:
  explicit Any(unsigned seed) : bits_(seed) {}
  std::int8_t operator()() {
    return static_cast<std::int8_t>(static_cast<int>(bits_() % 255) - 127);
  }

 private:
  std::mt19937 bits_;
};

TEST(ProductKernels, IsWhatTheFormulaSays) {
  Problem problem({.depth = 8});
  problem.fill([] { return std::int8_t{0}; });
  problem.a(0)[3 * 8 + 0] = 2;  // a[3][0]
  problem.a(0)[3 * 8 + 6] = -5;
  problem.b(0)[9 * 4 + 0] = 7;         // b[0][9]
  problem.b(0)[64 + 9 * 4 + 2] = -11;  // b[6][9]
  problem.b(0)[64 + 10 * 4 + 2] = 1;   // b[6][10]
  problem.expect_definition_everywhere();
  std::vector<std::int32_t> expected(16 * 16, 0);
  expected[3 * 16 + 9] = 2 * 7 + 5 * 11;
  expected[3 * 16 + 10] = -5;
  EXPECT_EQ(problem.run(product_kernels()), expected);
}

TEST(ProductKernels, EveryDepthAndWidth) {
  for (int depth = 4; depth <= 260; depth += 4) {
    for (int blocks = 1; blocks <= kProductBlocks; ++blocks) {
      Problem problem({.depth = depth, .column_blocks = blocks, .terms = 2, .accumulates = true});
      problem.fill(Any(static_cast<unsigned>(depth))).expect_definition_everywhere();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ProductKernels, EveryNumberOfTerms) {
  for (int terms = 0; terms <= 30; ++terms) {
    for (const bool accumulates : {false, true}) {
      Problem problem(
          {.depth = 68, .column_blocks = 4, .terms = terms, .accumulates = accumulates});
      problem.fill(Any(7)).expect_definition_everywhere();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ProductKernels, RowsMayLieAnyDistanceApart) {
  for (const int gap : {1, 3, 4, 61, 500}) {
    for (int blocks = 1; blocks <= kProductBlocks; ++blocks) {
      for (const bool accumulates : {false, true}) {
        Problem problem({.depth = 132,
                         .column_blocks = blocks,
                         .terms = 3,
                         .a_gap = gap,
                         .b_gap = 2 * gap + 1,
                         .c_gap = gap,
                         .accumulates = accumulates});
        problem.fill(Any(9)).expect_definition_everywhere();
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(ProductKernels, TheLargestValuesAreExact) {
  for (const int sign : {-1, 1}) {
    Problem same({.depth = 260, .column_blocks = 4, .terms = 30});
    same.fill([&] { return static_cast<std::int8_t>(127 * sign); }).expect_definition_everywhere();
    Problem mixed({.depth = 260, .column_blocks = 4, .terms = 30, .accumulates = true});
    int count = 0;
    mixed.fill(
        [&] { return static_cast<std::int8_t>(++count % 3 == 0 ? 127 * sign : -127 * sign); });
    mixed.expect_definition_everywhere();
  }
}

// 540 terms of 256·127·127 pass 2^31 before as many negative ones take them back.
TEST(ProductKernels, SumsMayLeaveTheRangeOnTheWay) {
  Problem problem({.depth = 256, .terms = 1080, .accumulates = true});
  problem.fill([] { return std::int8_t{127}; });
  for (int t = 540; t < 1080; ++t) std::ranges::fill(problem.a(t), std::int8_t{-127});
  problem.expect_definition_everywhere();
}

TEST(ProductKernels, SumsOfRowsAreOneHundredTwentyEightfold) {
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    const ProductKernels& path = product_kernels();
    reset_isa();
    EXPECT_EQ(path.needs_sums(), path.b_flip != 0) << name_of(isa);
    if (!path.needs_sums()) continue;
    for (const int depth : {4, 60, 64, 68, 516}) {
      const int rows = 37;
      const int stride = depth + 5;
      std::vector<std::int8_t> a(static_cast<std::size_t>((rows - 1) * stride + depth));
      std::ranges::generate(a, Any(3));
      std::vector<std::int32_t> sums(rows);
      path.sums(a.data(), rows, depth, stride, sums.data());
      for (int r = 0; r < rows; ++r) {
        const auto row = a.begin() + r * stride;
        EXPECT_EQ(sums[static_cast<std::size_t>(r)], 128 * std::accumulate(row, row + depth, 0));
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline kernels
