// SPDX-License-Identifier: Apache-2.0
// The scales of a line of blocks, each from the largest magnitude of its block, many at a time.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/quantize/float_op.h"
#include "kernels/quantize/kernels.h"

namespace nibble::inline kernels {

// What the bits of a magnitude add to the largest: infinities count as the largest finite value,
// NaN as nothing.
template <class V>
NIBBLE_INLINE typename V::U counted_magnitude(typename V::U a) {
  const auto is_nan = V::less_unsigned(V::set(0x7F800000U), a);
  return V::select(is_nan, V::set(0U), V::min_unsigned(a, V::set(0x7F7FFFFFU)));
}

// Bits of the largest counted magnitude.
template <class V>
NIBBLE_INLINE std::uint32_t largest_bits(const float* input, std::size_t count) {
  const auto over = [&](auto adjust) __attribute__((always_inline)) {
    const auto magnitude_mask = V::set(0x7FFFFFFFU);
    auto largest = V::set(0U);
    std::size_t i = 0;
    for (; i + V::kLanes <= count; i += V::kLanes) {
      const auto a = V::and_(V::bits(V::load(input + i)), magnitude_mask);
      largest = V::max_unsigned(largest, adjust(a));
    }
    if (i < count) {
      const auto a = V::and_(V::bits(V::load_first(input + i, count - i)), magnitude_mask);
      largest = V::max_unsigned(largest, adjust(a));
    }
    return V::largest(largest);
  };
  const auto plain = over([](auto a) { return a; });
  if (plain < 0x7F800000U) [[likely]]
    return plain;
  return over([](auto a) { return counted_magnitude<V>(a); });
}

// 2^exponent from -127 on, where it is subnormal.
template <class V>
NIBBLE_INLINE typename V::F power_of_two(typename V::U exponent) {
  const auto field = V::add(exponent, V::set(127U));
  const auto normal = V::shl(field, V::set(23U));
  return V::floats(V::select(V::equal(field, V::set(0U)), V::set(0x00400000U), normal));
}

// The shared exponents of blocks from the bits of their largest magnitudes. A subnormal one is
// written as if the field below 1 were a binade too; what lies below that one ends at the lowest.
template <class V>
NIBBLE_INLINE typename V::U shared_exponents(const BlockPlan& blocks, typename V::U bits) {
  const auto subnormal = V::sub(V::add(bits, bits), V::set(0x800000U));
  const auto ordered = V::select(V::less_unsigned(bits, V::set(0x800000U)), subnormal, bits);
  const auto field = V::sar(V::add(ordered, V::set(blocks.exponent_round)), V::set(23U));
  const auto wanted = V::sub(field, V::set(static_cast<std::uint32_t>(blocks.exponent_offset)));
  return V::min_signed(
      V::max_signed(wanted, V::set(static_cast<std::uint32_t>(kMinSharedExponent))),
      V::set(static_cast<std::uint32_t>(kMaxSharedExponent)));
}

// A block's scale under two levels: what is stored, and what elements are multiplied by.
template <class V>
struct TwoLevelScale {
  typename V::F stored;
  typename V::F scale;
};

// fl32(amax / max), rounded to e4m3 in units of the tensor's scale.
template <class V>
NIBBLE_INLINE TwoLevelScale<V> two_level_scale(
    const BlockPlan& blocks, const FloatOp<V, RoundingKind::nearest_even>& to_e4m3,
    typename V::F amax) {
  const auto tensor_scale = V::set(blocks.tensor_scale);
  const auto wanted = V::div(V::div(amax, V::set(blocks.element_max)), tensor_scale);
  const auto stored = to_e4m3(wanted, V::set(0U));
  return {stored, V::mul(stored, tensor_scale)};
}

// fl32(amax / max), 1 for a block of zeros.
template <class V>
NIBBLE_INLINE typename V::F divided_scale(const BlockPlan& blocks, typename V::F amax) {
  const auto scale = V::div(amax, V::set(blocks.element_max));
  return V::select(V::equal(scale, V::set(0.0F)), V::set(1.0F), scale);
}

// What to multiply and divide the elements of up to kBlocks blocks by.
template <class V>
struct BlockScales {
  static constexpr std::size_t kBlocks = 64;
  float scale[kBlocks];
  float inverse[kBlocks];  // of a power of two

  BlockScales(const BlockPlan& blocks, const float* input, std::size_t count) {
    std::uint32_t largest[kBlocks];
    std::size_t filled = 0;
    for (std::size_t i = 0; i < count; i += blocks.block) {
      largest[filled++] = largest_bits<V>(input + i, std::min(blocks.block, count - i));
    }
    while (filled % V::kLanes != 0) largest[filled++] = 0;
    const FloatOp<V, RoundingKind::nearest_even> to_e4m3(*blocks.block_scale, nullptr);
    for (std::size_t b = 0; b < filled; b += V::kLanes) {
      const auto bits = V::load(largest + b);
      if (blocks.kind == ScaleKind::power_of_two) {
        const auto exponent = shared_exponents<V>(blocks, bits);
        V::store(scale + b, power_of_two<V>(exponent));
        V::store(inverse + b, power_of_two<V>(V::sub(V::set(0U), exponent)));
      } else {
        const auto amax = V::floats(bits);
        V::store(scale + b, blocks.kind == ScaleKind::two_level
                                ? two_level_scale<V>(blocks, to_e4m3, amax).scale
                                : divided_scale<V>(blocks, amax));
        V::store(inverse + b, V::set(1.0F));
      }
    }
  }
};

}  // namespace nibble::inline kernels
