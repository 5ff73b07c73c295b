// SPDX-License-Identifier: Apache-2.0
// What multiplies the elements: the scaling half of a format, with its scalar definition.
#pragma once

#include <cstdint>

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

enum class ScaleKind : std::uint8_t {
  none,
  given,         // value = (element - zero) · scale, by numbers in the format or beside the data
  power_of_two,  // 2^e shared by a group, from its largest magnitude by a ScaleRule; 8-bit exponent
  absmax,     // fp32 scale shared by a group: its largest magnitude / the element's largest value
  minmax,     // fp32 scale and zero point from the group's range (integers)
  two_level,  // e4m3 scale a block, fp32 scale a tensor (NVFP4)
};

// Which numbers share a scale.
enum class Granularity : std::uint8_t {
  tensor,
  axis,   // one scale for each index along `axis`
  block,  // runs of `block` elements along `axis`; the last run of a line may be shorter
};

// With a = the largest magnitude of the group and E(v) = floor(log2 v), e is
enum class ScaleRule : std::uint8_t {
  floor,  // E(a) - E(max)                       OCP MX 1.0
  ceil,   // ceil(log2 a) - E(max)
  even,   // E(a rounded to the element's precision) - E(max)
  rceil,  // the smallest e with a <= max·2^e    (cuBLAS)
};

inline constexpr int kMinSharedExponent = -127;  // the range of E8M0
inline constexpr int kMaxSharedExponent = 127;

struct Scaling {
  ScaleKind kind = ScaleKind::none;
  Granularity granularity = Granularity::tensor;
  int axis = -1;
  int block = 0;
  ScaleRule rule = ScaleRule::floor;
  float scale = 1.0F;  // given, one for the tensor
  int zero = 0;
  float tensor_scale = 0;  // two_level: the tensor's; 0: from the data

  bool operator==(const Scaling&) const = default;
};

// The multiplier of one group. Elements see y = fl32(x / scale) and give fl32(q · scale); with
// a power of two both are exact. The zero point moves codes, not values, so it stands beside.
struct GroupScale {
  float scale = 1.0F;
  int zero = 0;
};

// Exponent e of a power-of-two group whose largest magnitude is `amax`, a finite fp32 value;
// clamped to E8M0's range; the lowest for amax = 0.
int shared_exponent(const Element& element, ScaleRule rule, float amax);

// fl32(amax / max of the element); 1 for amax = 0.
float absmax_scale(const Element& element, float amax);

// Affine integers over [min(low, 0), max(high, 0)].
GroupScale minmax_scale(const GridElement& element, float low, float high);

// NVFP4: the tensor's scale, fl32(amax / (448·6)), and a block's under it, an e4m3 value; 0 for a
// block of zeros.
float two_level_tensor_scale(const Element& element, float tensor_amax);
float two_level_block_scale(const Element& element, float block_amax, float tensor_scale);

// The magnitude a value adds to its group's amax: infinities count as the largest finite fp32
// value, NaN as nothing.
float scaling_magnitude(float x);

}  // namespace nibble::inline numerics
