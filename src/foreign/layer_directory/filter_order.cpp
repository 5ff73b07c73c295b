// SPDX-License-Identifier: Apache-2.0
// Reorders the weights of filters.
#include "foreign/layer_directory/filter_order.h"

namespace nibble::inline foreign {
namespace {

// Each filter is a matrix of `rows` by `columns`, which is transposed.
std::vector<std::int8_t> transposed(std::span<const std::int8_t> weights, std::int64_t filters,
                                    std::int64_t rows, std::int64_t columns) {
  std::vector<std::int8_t> result(weights.size());
  auto* out = result.data();
  for (std::int64_t f = 0; f < filters; ++f) {
    const std::int8_t* filter = weights.data() + f * rows * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = 0; r < rows; ++r) *out++ = filter[r * columns + c];
    }
  }
  return result;
}

}  // namespace

std::vector<std::int8_t> channels_last(std::span<const std::int8_t> weights, const Shape& shape) {
  return transposed(weights, shape[0], shape[3], shape[1] * shape[2]);
}

std::vector<std::int8_t> channels_first(std::span<const std::int8_t> weights, const Shape& shape) {
  return transposed(weights, shape[0], shape[1] * shape[2], shape[3]);
}

}  // namespace nibble::inline foreign
