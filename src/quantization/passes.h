// SPDX-License-Identifier: Apache-2.0
// The passes of quantize_model over a float network, each in the source of its name.
#pragma once

#include <cstdint>

#include "nibble/graph/network.h"
#include "nibble/quantization/float_batches.h"

namespace nibble::inline quantization {

// Networks that read counters and sensors: whole numbers of 32 bits, each feature with a range of
// its own.

// The same float network with its features brought to ±1 first, by a batch_norm with the middle and
// half the width of each feature's range in the calibration batches; the linear layers that read
// them have both in their weights and biases. In the integer network the batch_norm becomes a bias
// and a rescale from int32 to int8. Throws where the input is a picture, or read by other layers.
Model with_feature_ranges(Model model, const FloatBatches& batches);

// Cross-layer equalization: the same network with channels of like ranges.
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

// Weights rounded so that the sums they form stay, each up or down as the others need it.
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
Model with_learned_rounding(const Model& floating, Model fake, const FloatBatches& batches,
                            const LearnedRoundingSettings& settings = {});

// Bias correction: means that rounding has shifted are shifted back.

// For each conv2d and linear of the float network that the quantized one has under the same name,
// in the order of the quantized: its bias (made where there is none) grows by the mean over
// examples and places of (float value - quantized value) of each channel, the layers before it
// being corrected already. Batches are (n, …) of f32. One pass over the float network; of the
// quantized one each layer runs from the last place where all paths meet, say between blocks.
Model with_corrected_biases(const Model& floating, Model quantized, const FloatBatches& batches);

}  // namespace nibble::inline quantization
