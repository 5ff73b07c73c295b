// SPDX-License-Identifier: Apache-2.0
// An exact accumulator of products: a fixed-point number wide enough that nothing is ever rounded.
#pragma once

#include "numerics/exact_sum.h"

namespace nibble::inline numerics {

// Holds sums of products a·b where a and b are multiples of 2^-256 below 2^256 (every fp32 value
// and every posit of 32 bits is): products are multiples of 2^-512 below 2^512, and 64 more bits
// leave room for 2^63 of them.
class Quire {
 public:
  void add_product(double a, double b);
  void add(double a) { add_product(a, 1.0); }

  int sign() const { return sum_.sign(); }  // -1, 0, +1

  // The sum rounded to odd in 53 bits: any later rounding to 51 bits or fewer is then as if from
  // the exact sum. Exact where 53 bits suffice.
  double to_double_odd() const { return sum_.to_double_odd(); }

 private:
  ExactSum sum_;
};

}  // namespace nibble::inline numerics
