// SPDX-License-Identifier: Apache-2.0
// The vector kernels of quantize: one table of functions an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/paths.h"
#include "kernels/quantize/rounding_ops.h"
#include "nibble/core/philox.h"

namespace nibble::inline kernels {

// One stretch of contiguous elements. `draws` has one entry an element, null unless stochastic.
struct Run {
  const float* input = nullptr;
  float* output = nullptr;
  std::size_t count = 0;
  const std::uint32_t* draws = nullptr;
  bool streams = false;  // writes past the caches: output 64-byte aligned, blocks of 16·n elements
};

struct QuantizeKernels {
  // output = round(input) under one scale.
  void (*round_run)(const RoundPlan& plan, Definition definition, const Run& run, ScaleUse use,
                    float scale);

  // The same with a scale for each element.
  void (*round_scales)(const RoundPlan& plan, Definition definition, const Run& run, ScaleUse use,
                       const float* scales);

  // Blocks of one line, each with a scale of its own.
  void (*round_blocks)(const RoundPlan& plan, Definition definition, const Run& run,
                       const BlockPlan& blocks);

  // Largest scaling_magnitude of a stretch.
  float (*largest_magnitude)(const float* input, std::size_t count);

  // Draws of elements [first, first + count) for r random bits. Writes from out[0] up to
  // out[count + kDrawSlack) and returns where the first draw is. Meanwhile the same number of
  // elements from `upcoming` on travel into the caches.
  const std::uint32_t* (*fill_draws)(const RandomKey& key, int random_bits, std::uint64_t first,
                                     std::size_t count, std::uint32_t* out, const float* upcoming);
};

// The first draw lies up to 7 lanes into its counter, and a batch of counters has up to 256 draws.
inline constexpr std::size_t kDrawSlack = 7 + 256;

#define NIBBLE_QUANTIZE_PATHS(PATH) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512))

#define NIBBLE_PATH(isa)                         \
  namespace isa {                                \
  extern const QuantizeKernels kQuantizeKernels; \
  }
NIBBLE_QUANTIZE_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

// The reference path has no kernels: it is the definition.
#define NIBBLE_PATH(isa) {Isa::isa, &isa::kQuantizeKernels},
inline constexpr KernelPath<const QuantizeKernels*> kQuantizePaths[] = {
    {Isa::reference, nullptr}, NIBBLE_QUANTIZE_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
