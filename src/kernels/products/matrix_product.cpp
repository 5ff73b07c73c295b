// SPDX-License-Identifier: Apache-2.0
// Cuts matrices into tiles and lays their operands out as the tiles read them.
#include "kernels/products/matrix_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/products/product_kernels.h"
#include "nibble/core/parallel.h"

namespace nibble::inline kernels {
namespace {

constexpr std::int64_t kPanel = kProductBlocks * kProductColumns;  // columns of a tile
constexpr int kLowest = -128;

std::int64_t filled_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Tiles take -127 to 127. What is left of -128 after -127 is -1: a second matrix of few values.
enum class ValuePart { held, rest };

std::int8_t part_of(std::int8_t value, ValuePart part) {
  if (part == ValuePart::held) return std::max<std::int8_t>(value, kLowest + 1);
  return value == kLowest ? -1 : 0;
}

bool has_lowest(std::span<const std::int8_t> values) {
  return std::ranges::find(values, kLowest) != values.end();
}

// The rows of a, filled up to whole tiles and quads.
struct ProductRows {
  ProductRows(std::span<const std::int8_t> a, const MatrixProductShape& shape, ValuePart part)
      : depth(filled_up(shape.depth, 4)),
        values(static_cast<std::size_t>(filled_up(shape.rows, kProductRows) * depth)),
        sums(static_cast<std::size_t>(filled_up(shape.rows, kProductRows))) {
    parallel_for(static_cast<std::size_t>(shape.rows), 64, [&](std::size_t begin, std::size_t end) {
      for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end);
           ++row) {
        const std::int8_t* from = a.data() + row * shape.depth;
        std::transform(from, from + shape.depth, values.data() + row * depth,
                       [part](std::int8_t value) { return part_of(value, part); });
      }
    });
    const ProductKernels& kernels = product_kernels();
    if (kernels.needs_sums())
      kernels.sums(values.data(), static_cast<std::int64_t>(sums.size()), depth, depth,
                   sums.data());
  }

  std::int64_t depth;
  std::vector<std::int8_t> values;
  std::vector<std::int32_t> sums;
};

// The columns of b in panels, four terms of a column side by side.
struct ProductPanels {
  ProductPanels(std::span<const std::int8_t> b, const MatrixProductShape& shape, ValuePart part)
      : depth(filled_up(shape.depth, 4)),
        columns(filled_up(shape.columns, kProductColumns)),
        values(static_cast<std::size_t>(depth * columns),
               static_cast<std::int8_t>(product_kernels().b_flip)) {
    const std::uint8_t flip = product_kernels().b_flip;
    const auto count = static_cast<std::size_t>(filled_up(columns, kPanel) / kPanel);
    parallel_tasks(count, [&](std::size_t task) {
      const std::int64_t first = static_cast<std::int64_t>(task) * kPanel;
      const std::int64_t used = std::min(kPanel, shape.columns - first);
      for (std::int64_t k = 0; k < shape.depth; ++k) {
        const std::int8_t* from = b.data() + k * shape.columns + first;
        std::int8_t* to = values.data() + first * depth + k / 4 * 4 * width(first) + k % 4;
        for (std::int64_t j = 0; j < used; ++j)
          to[j * 4] = static_cast<std::int8_t>(part_of(from[j], part) ^ flip);
      }
    });
  }

  std::int64_t width(std::int64_t first) const { return std::min(kPanel, columns - first); }

  std::int64_t depth;
  std::int64_t columns;
  std::vector<std::int8_t> values;
};

}  // namespace

void multiply_matrices(std::span<const std::int8_t> a, std::span<const std::int8_t> b,
                       const MatrixProductShape& shape, std::span<std::int32_t> c) {
  if (shape.depth == 0) std::ranges::fill(c, 0);
  if (shape.depth == 0 || c.empty()) return;
  std::vector<ProductRows> rows;
  std::vector<ProductPanels> panels;
  rows.emplace_back(a, shape, ValuePart::held);
  panels.emplace_back(b, shape, ValuePart::held);
  if (has_lowest(a)) rows.emplace_back(a, shape, ValuePart::rest);
  if (has_lowest(b)) panels.emplace_back(b, shape, ValuePart::rest);

  const std::int64_t tiles = filled_up(shape.rows, kProductRows) / kProductRows;
  const std::int64_t depth = rows[0].depth;
  const auto count = static_cast<std::size_t>(tiles * (filled_up(shape.columns, kPanel) / kPanel));
  parallel_for(count, 4, [&](std::size_t begin, std::size_t end) {
    std::array<std::int32_t, kProductRows * kPanel> sums;
    for (auto task = static_cast<std::int64_t>(begin); task < static_cast<std::int64_t>(end);
         ++task) {
      const std::int64_t row = task % tiles * kProductRows;
      const std::int64_t column = task / tiles * kPanel;
      const std::int64_t width = panels[0].width(column);
      std::vector<ProductTerm> terms;
      for (const ProductRows& left : rows)
        for (const ProductPanels& right : panels)
          terms.push_back({.a = left.values.data() + row * depth,
                           .b = right.values.data() + column * depth,
                           .a_sums = left.sums.data() + row});
      product_kernels().multiply(terms, {.depth = depth,
                                         .a_stride = depth,
                                         .b_stride = width * 4,
                                         .column_blocks = static_cast<int>(width / kProductColumns),
                                         .c = sums.data(),
                                         .c_stride = kPanel,
                                         .accumulates = false});
      const std::int64_t used = std::min(kPanel, shape.columns - column);
      for (std::int64_t r = 0; r < std::min<std::int64_t>(kProductRows, shape.rows - row); ++r)
        std::copy_n(sums.data() + r * kPanel, used, c.data() + (row + r) * shape.columns + column);
    }
  });
}

}  // namespace nibble::inline kernels
