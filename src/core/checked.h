// SPDX-License-Identifier: Apache-2.0
// Sums and products of sizes that throw where they would wrap.
#pragma once

#include <concepts>

#include "nibble/core/error.h"

namespace nibble::inline core {

template <std::integral T>
T checked_sum(T first, std::same_as<T> auto... more) {
  T sum = first;
  if ((__builtin_add_overflow(sum, more, &sum) || ...)) {
    throw Error("size", "sum of sizes", "more than 64 bits hold", "a smaller network or batch",
                ErrorKind::limit);
  }
  return sum;
}

template <std::integral T>
T checked_product(T first, std::same_as<T> auto... more) {
  T product = first;
  if ((__builtin_mul_overflow(product, more, &product) || ...)) {
    throw Error("size", "product of sizes", "more than 64 bits hold", "a smaller network or batch",
                ErrorKind::limit);
  }
  return product;
}

// The least multiple of `step` that is not below `size`.
template <std::integral T>
T checked_round_up(T size, T step) {
  return checked_sum(size, static_cast<T>(step - 1)) / step * step;
}

}  // namespace nibble::inline core
