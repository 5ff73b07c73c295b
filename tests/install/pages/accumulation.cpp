// SPDX-License-Identifier: Apache-2.0
// The block of docs/accumulation.md: a sum that fp16 holds in parts alone, a product to round.
#include "nibble/kernels/accumulate.h"

#include <algorithm>
#include <iostream>

using namespace nibble;

int main() {
  constexpr int kDepth = 4096;
  Tensor a(DType::f32, {2, kDepth}), b(DType::f32, {kDepth, 2}), c(DType::f32, {2, 2});
  std::ranges::fill(a.as<float>(), 1.0F);
  std::ranges::fill(b.as<float>(), 0.0F);
  for (int k = 0; k < kDepth; ++k) b.as<float>()[2 * k] = 1;
  // Second row, second column: 2 + (1 + 2^-10)(1 + 2^-20), a tie once the product is rounded.
  a.as<float>()[kDepth + 1] = 1 + 0x1p-10F;
  b.as<float>()[1] = 2;
  b.as<float>()[3] = 1 + 0x1p-20F;
#include <accumulation_0.cpp>
  std::cout << c.as<float>()[0] << ' ' << c.as<float>()[3] << '\n';
}
