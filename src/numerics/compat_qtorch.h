// SPDX-License-Identifier: Apache-2.0
// QPyTorch 0.3.0 and its posit fork, one number at a time: what their CPU code computes.
// docs/formats/differences.md lists where that differs from Nibble's own definitions.
#pragma once

#include <cstdint>

#include "nibble/numerics/compat.h"
#include "nibble/numerics/format.h"

namespace nibble::inline numerics {

// Whether the package has the format with the rounding. Formats are read as
//   fixed(wl,fl[,symmetric][,clamp=off]) -> fixed point        bfp(wl[,axis=d]) -> block, dim = d
//   or -1 float(e,m), default bias             -> float(e, m), its own specials and subnormals
//   posit(n,es[,scale=s])                -> posit, scale = 1/s                    (qtorch+)
//   codebook(…), symmetric about 0[, scale=s] -> table of its magnitudes, ascending (qtorch+)
// Roundings: nearest-even stands for the package's "nearest", whatever its ties do; stochastic.
bool compat_supports(const Format& format, const Rounding& rounding, Compat compat);

// Throws, naming what the package has, where compat_supports says no.
void check_compat(const Format& format, const Rounding& rounding, Compat compat);

// The largest magnitude of a group as the packages see it: NaN and infinity stay.
float compat_group_max(float max_abs, float x);

// The package's result for x. `group_max_abs` matters to blocks only, `draw` (32 bits) to
// stochastic rounding only. The package's random numbers are the top bits of r = draw / 2^32: 24
// for fixed point, 23 - wl for blocks, 23 - m for floats. Compat::qtorch uses all 32 and takes
// floor(y + r) exactly, which is the package's result wherever the package's own arithmetic is
// exact. Wants compat other than none and what check_compat accepts.
float compat_round(const Format& format, Compat compat, const Rounding& rounding,
                   float group_max_abs, float x, std::uint32_t draw);

}  // namespace nibble::inline numerics
