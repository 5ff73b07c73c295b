// SPDX-License-Identifier: Apache-2.0
// How a float network is to be quantized.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace nibble::inline quantization {

inline constexpr int kInputBits = 8;    // pictures are bytes
inline constexpr int kOutputBits = 16;  // of answers: a class is the largest of them

struct LayerBits {
  int weights = 8;      // 2 to 8
  int activations = 8;  // of what the layer gives, 2 to 8
  bool operator==(const LayerBits&) const = default;
};

// How the range of a layer is found; docs/quantization.md says what each does.
struct RangeMethod {
  enum class Kind : std::uint8_t { max, percentile, entropy, mse, average };
  Kind kind = Kind::max;
  double percent = 100;  // of percentile
  bool operator==(const RangeMethod&) const = default;
};

// max, percentile:P with 50 ≤ P ≤ 100, entropy, mse, average.
RangeMethod parse_range_method(std::string_view text);
std::string to_string(const RangeMethod& method);

// What the network of integers is to be.
enum class IntegerForm : std::uint8_t {
  usual,  // factors of 31 bits; sums are rounded where that loses least
  // As NVIDIA's INT4 ResNet-50 has it: factors of 16 bits with its shifts, 8 bits for what
  // shortcuts round, 7 before and after the mean, pictures normalized as ImageNet's on ±127 steps
  // of 2.64/127.
  nvidia,
};

struct QuantizeSettings {
  LayerBits bits;
  // By name of a conv2d or linear, instead of `bits` and `edge_bits`; 0 stands for these.
  std::map<std::string, LayerBits> layers = {};
  int edge_bits =
      0;  // not 0: of the first and the last layer's weights and of what enters the last
  bool is_per_channel = true;  // a step for each output; otherwise one for the whole weight
  bool is_symmetric = false;   // values of both signs on ±(2^(bits - 1) - 1); otherwise affine
  bool fits_weights = true;    // steps of weights of the least squared error; otherwise max
  RangeMethod method{.kind = RangeMethod::Kind::percentile, .percent = 99.999};
  bool equalizes = true;         // cross-layer equalization before all else
  bool corrects_bias = true;     // after all else
  bool learns_rounding = false;  // of weights, layer by layer
  IntegerForm form = IntegerForm::usual;
  bool has_integer_features = false;  // see with_feature_ranges
};

}  // namespace nibble::inline quantization
