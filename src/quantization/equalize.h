// SPDX-License-Identifier: Apache-2.0
// Cross-layer equalization: the same network with channels of like ranges.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline quantization {

struct EqualizeSettings {
  int most_rounds = 40;
  double settled = 1e-3;        // ends after a round whose factors are all this near to 1
  bool replaces_relu6 = false;  // Relu6 of a chain becomes Relu: another function where it clips
};

// Nagel and others 2019 (arXiv 1906.04721), section 4.1, for each chain of a conv2d or linear, none
// or more of relu, pools and flatten, and a conv2d or linear, all with one reader: channel i of the
// first is divided by sᵢ = √(r₁ᵢ / r₂ᵢ) and what the second multiplies with it multiplied by sᵢ,
// where r₁ᵢ and r₂ᵢ are the largest magnitudes of these weights. ReLU and pools give s·y for s·x.
// No bias may outgrow the largest of its layer (sᵢ ≥ |bᵢ| / max |b|): a channel of tiny weights and
// a common bias would otherwise widen the range of all values for the sake of a constant.
// Chains through relu6 are left alone unless settings say otherwise. Batch norms end a chain: fold
// them first.
Model equalized(Model model, const EqualizeSettings& settings = {});

}  // namespace nibble::inline quantization
