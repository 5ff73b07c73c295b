// SPDX-License-Identifier: Apache-2.0
// The paths of the simulated accumulator: one choice of tiles an instruction set.
#pragma once

#include "kernels/accumulate/job.h"
#include "kernels/paths.h"

namespace nibble::inline kernels {

#define NIBBLE_TILE_PATHS(PATH) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512))

#define NIBBLE_PATH(isa)                                              \
  namespace isa {                                                     \
  accumulation::TileKernel tile_kernel(const accumulation::Job& job); \
  }
NIBBLE_TILE_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

// The reference path has no tiles: it is the definition.
#define NIBBLE_PATH(isa) {Isa::isa, &isa::tile_kernel},
inline constexpr KernelPath<accumulation::TileKernel (*)(const accumulation::Job&)> kTilePaths[] = {
    {Isa::reference, nullptr}, NIBBLE_TILE_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
