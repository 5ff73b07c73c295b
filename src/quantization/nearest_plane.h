// SPDX-License-Identifier: Apache-2.0
// Integers near a real vector in the metric of a quadratic form.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/fake_quantize.h"

namespace nibble::inline quantization {

// Babai's nearest plane for eᵀ·H·e, e = weights - step·integers. With H = L·Lᵀ the form is |Lᵀ·e|²,
// whose term i has the errors i and after it alone: from the last weight to the first each integer
// makes its own term least, given those behind it. This is GPTQ (Frantar and others 2022) without
// the inverse of H. Weights come in the order of H's diagonal: the costliest are chosen first, the
// others make up for them.
class NearestPlane {
 public:
  // A symmetric matrix, positive definite, of order² numbers; the upper half is not read.
  NearestPlane(std::span<const double> form, std::size_t order);

  // x with H·x = y.
  std::vector<double> solved(std::span<const double> y) const;

  // The integers, of the grid.
  std::vector<float> integers(std::span<const double> weights, float step,
                              const IntegerGrid& grid) const;

 private:
  std::size_t order_;
  std::vector<std::size_t> places_;  // of the rows of L in H
  std::vector<double> lower_;        // L, row by row
};

}  // namespace nibble::inline quantization
