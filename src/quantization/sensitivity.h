// SPDX-License-Identifier: Apache-2.0
// What each layer's weights in few bits do to the answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nibble/graph/network.h"
#include "nibble/quantization/float_batches.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

struct BitNoise {
  int bits = 8;
  std::int64_t bytes = 0;  // of the packed weight
  double noise = 0;        // mean (y - ŷ)² over examples and answers
  double sqnr = 0;  // 10·log₁₀(Σ y² / Σ (y - ŷ)²) dB, infinite where nothing changes
};

struct LayerSensitivity {
  std::string name;
  std::vector<BitNoise> choices;  // from many bits to few
};

// Packed one after another, as files have them.
std::int64_t weight_bytes(std::int64_t weights, int bits);

// As the engine and emitted C hold a weight: of 4 bits and fewer two to a byte in each output's
// row, of more one.
std::int64_t held_bytes(const Shape& weight, int bits);

// For each conv2d and linear of a float network without batch norms, and each number of bits: its
// weight rounded as the settings say, all else float. Layers whose bits the settings fix, as edges
// or by name, have that choice alone. Batches are (n, …) of f32; each layer runs from the last
// place where all paths meet.
std::vector<LayerSensitivity> scan_sensitivity(const Model& folded,
                                               const QuantizeSettings& settings,
                                               const FloatBatches& batches,
                                               std::span<const int> bits);

// A line a layer: the SQNR for each number of bits.
std::string sensitivity_text(std::span<const LayerSensitivity> layers);
// A list of {"name", "choices": [{"bits", "bytes", "noise", "sqnr_db"}]}; an infinite number is
// the string "inf".
std::string sensitivity_json(std::span<const LayerSensitivity> layers);

}  // namespace nibble::inline quantization
