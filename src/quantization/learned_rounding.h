// SPDX-License-Identifier: Apache-2.0
// Weights rounded so that the sums they form stay, each up or down as the others need it.
#pragma once

#include <cstdint>
#include <span>

#include "nibble/graph/network.h"

namespace nibble::inline quantization {

struct LearnedRoundingSettings {
  std::int64_t rows = 8192;  // sums of each output that are looked at, at most
  double damping = 0.01;     // what keeps weights where they are, in means of the form's diagonal
  bool moves_biases = true;  // they take the means, so that weights need not
  std::uint64_t seed = 0;    // of the places where sums are looked at
};

// For each conv2d and linear of the fake-quantized network that the float one has under the same
// name, in order: weights of least Σ (t - x·w)², where t are sums of the float network and x what
// enters the layer in the fake-quantized one, the layers before it being done already. These are
// rounded, with the steps that the layer has, by GPTQ's rule: each takes up the errors of those
// before it. That is AdaRound's aim (Nagel and others 2020, arXiv 2004.10568) in closed form: no
// learning rate, the same answer on any number of threads, and a layer costs one Cholesky factor
// where gradient descent needs thousands of passes. A relu behind the sums is not looked at.
// The weights become step·integer, which fake quantization leaves as they are. Batches are (n, …)
// of f32.
Model with_learned_rounding(const Model& floating, Model fake, std::span<const Tensor> batches,
                            const LearnedRoundingSettings& settings = {});

}  // namespace nibble::inline quantization
