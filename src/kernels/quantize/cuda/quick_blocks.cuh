// SPDX-License-Identifier: Apache-2.0
// The scale of a thread's block where all of its numbers are finite.
#pragma once

#include "kernels/quantize/cuda/block_scales.cuh"
#include "kernels/quantize/cuda/divisor.cuh"
#include "kernels/quantize/cuda/quick_float.cuh"

namespace nibble::cuda {

// Bits of the largest magnitude, of NaN where there is one.
__device__ __forceinline__ std::uint32_t largest_with_nan(const float (&x)[kVector]) {
  return Lane::bits(BoundedLane::max(BoundedLane::max(fabsf(x[0]), fabsf(x[1])),
                                     BoundedLane::max(fabsf(x[2]), fabsf(x[3]))));
}

// What a kernel scales by itself.
enum class OwnBlocks : std::uint8_t { none, one_level, two_levels };

// Scales of blocks, the same kind for a whole call.
template <ScaleUse kUse, OwnBlocks kBlocks>
struct QuickBlocks {
  ExactDivisor element_max;
  ExactDivisor tensor_scale;
  float largest_wanted;            // two levels: fl32(448 · tensor scale)
  bool has_ordinary_scale = true;  // two levels: of the tensor

  __device__ __forceinline__ explicit QuickBlocks(const ScaleJob& job) {
    if constexpr (kUse == ScaleUse::divide && kBlocks != OwnBlocks::none) {
      element_max = ExactDivisor(job.blocks.element_max);
    }
    if constexpr (kBlocks == OwnBlocks::two_levels) {
      const float t = two_level_tensor_scale_of(job);
      tensor_scale = ExactDivisor(t);
      largest_wanted = 448.0F * t;
      has_ordinary_scale = t >= 0x1p-30F && t <= 0x1p30F;
    }
  }

  // Whether four threads or more hold a block, so that each finds the scale of one of four.
  __device__ __forceinline__ static bool shares(const ScaleJob& job) {
    return (1 << job.block_bits) >= kScaled * kVector;
  }

  // Of the block that vector (lane mod 4) belongs to, where threads share: NaN where elements are
  // not to be divided by it quickly.
  __device__ __forceinline__ ElementScale own_scale(const ScaleJob& job,
                                                    const float (&x)[kScaled][kVector]) const {
    std::uint32_t largest[kScaled];
#pragma unroll
    for (int v = 0; v < kScaled; ++v) largest[v] = largest_with_nan(x[v]);
    const auto greater = [](std::uint32_t a, std::uint32_t b) { return Lane::max_unsigned(a, b); };
    return quick_scale(job, greatest_of_block(largest, 1 << job.block_bits, greater));
  }

  // Of vector v; `own` is what own_scale gave where threads share.
  __device__ __forceinline__ ElementScale scale_of_vector(const ScaleJob& job, bool is_shared,
                                                          const ElementScale& own, int v,
                                                          const float (&x)[kVector]) const {
    if (!is_shared) {
      return quick_scale(job, largest_of_block(largest_with_nan(x), 1 << job.block_bits));
    }
    ElementScale s;
    s.scale = of_vector(own.scale, v);
    if constexpr (kUse == ScaleUse::exact) s.inverse = of_vector(own.inverse, v);
    return s;
  }

 private:
  __device__ __forceinline__ ElementScale quick_scale(const ScaleJob& job,
                                                      std::uint32_t largest) const {
    ElementScale s = scale_of(job, largest);
    if (largest >= 0x7F800000U || !is_quick(s.scale)) s.scale = Lane::floats(0x7FC00000U);
    return s;
  }

  // Of finite numbers.
  __device__ __forceinline__ ElementScale scale_of(const ScaleJob& job,
                                                   std::uint32_t largest) const {
    ElementScale s;
    if constexpr (kUse == ScaleUse::exact) {
      if (largest - 0x20000000U < 0x40000000U) {
        // Far from the ends of its range the exponent is a matter of fields.
        const std::uint32_t field = (largest + job.blocks.exponent_round) & 0x7F800000U;
        const auto top = static_cast<std::uint32_t>(job.blocks.exponent_offset - 127) << 23;
        s.scale = Lane::floats(field - top);
        s.inverse = Lane::floats(0x7F000000U - (field - top));
      } else {
        const std::uint32_t exponent = shared_exponents<Lane>(job.blocks, largest);
        s.scale = power_of_two<Lane>(exponent);
        s.inverse = power_of_two<Lane>(0U - exponent);
      }
    } else if constexpr (kBlocks == OwnBlocks::two_levels) {
      // Tiny quotients end at 0 whatever their last bits.
      const float wanted = fminf(element_max.quotient(Lane::floats(largest)), largest_wanted);
      constexpr float kLeast = 0x1p-6F;
      constexpr float kRatio = 0x1p20F;
      const float stored = nearest_magnitude(tensor_scale.quotient(wanted), kLeast, kRatio);
      s.scale = stored * tensor_scale.divisor;
    } else {
      s.scale = largest == 0 ? 1.0F : element_max.quotient(Lane::floats(largest));
    }
    return s;
  }

  // Whether elements may be divided by it quickly; a scale of 0 makes zeros of them.
  __device__ __forceinline__ bool is_quick(float scale) const {
    return kUse == ScaleUse::exact || kBlocks == OwnBlocks::two_levels || is_ordinary(scale);
  }
};

}  // namespace nibble::cuda
