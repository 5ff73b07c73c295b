// SPDX-License-Identifier: Apache-2.0
// Runs of fp16 and bf16 to fp32 and back: one table of functions an instruction set, with the bits
// of core/half.h. Both types travel as std::uint16_t, which is no DType of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/paths.h"

namespace nibble::inline kernels {

using WidenHalves = void (*)(const std::uint16_t* halves, float* floats, std::size_t count);
using NarrowToHalves = void (*)(std::uint16_t* halves, const float* floats, std::size_t count);

struct HalfKernels {
  WidenHalves widen_fp16;
  WidenHalves widen_bf16;
  NarrowToHalves narrow_to_fp16;
  NarrowToHalves narrow_to_bf16;
};

#define NIBBLE_HALF_PATHS(PATH) PATH(portable) NIBBLE_ON_X86(PATH(avx2))

#define NIBBLE_PATH(isa)                 \
  namespace isa {                        \
  extern const HalfKernels kHalfKernels; \
  }
NIBBLE_HALF_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kHalfKernels},
inline constexpr KernelPath<const HalfKernels*> kHalfPaths[] = {NIBBLE_HALF_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
