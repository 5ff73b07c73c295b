// SPDX-License-Identifier: Apache-2.0
// A matrix product whose accumulator is a parameter: what happens when sums are rounded too.
#pragma once

#include "nibble/core/philox.h"
#include "nibble/core/tensor.h"
#include "nibble/numerics/format.h"

namespace nibble::inline kernels {

enum class SumOrder : std::uint8_t {
  sequential,  // ((0 + p0) + p1) + …
  pairwise,    // a balanced tree: halves of ceil(n/2) and floor(n/2) products
};

enum class SumMethod : std::uint8_t {
  separate,  // p = round(a·b) to the product format, s = round(s + p)
  fused,     // s = round(s + a·b), rounded once from the exact value (sequential order only)
  kahan,     // compensated: each operation rounded (separate products, sequential order only)
  quire,     // the exact sum of a chunk, rounded once
};

struct Accumulator {
  Format format;  // no scaling; what sums are rounded to
  Rounding rounding = {};
  Overflow overflow = Overflow::native;
  Format product_format;  // what `separate` and `kahan` round products to, in the same way
  SumMethod method = SumMethod::separate;
  SumOrder order = SumOrder::sequential;
  int chunk = 0;  // products a chunk; chunk sums are then added in order. 0: one chunk
  RandomKey random = {};
};

// An accumulator of one format for products and sums.
Accumulator accumulator_of(const Format& format);

// c[i,j] = Σ_k a[i,k]·b[k,j] over f32 matrices (m×k, k×n, m×n), by the accumulator's rules; c
// shares no memory with a or b. Infinities and NaN go through products and sums as IEEE 754 has it.
// docs/accumulation.md has the definition, the numbering of random draws included.
void matmul(ConstTensorView a, ConstTensorView b, TensorView c, const Accumulator& accumulator);

}  // namespace nibble::inline kernels
