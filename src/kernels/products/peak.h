// SPDX-License-Identifier: Apache-2.0
// What the machine could do at most: products of registers alone. For benches.
#pragma once

#include <cstdint>

#include "core/isa.h"

namespace nibble::inline kernels {

// For half a millisecond or so, on this thread; returns how many operations that were, a product
// and its sum being two. 0, at once, where nothing can say what `isa` could do.
std::int64_t run_peak(Isa isa);

// What all threads reach at once for such a while, in operations a second; each by its own clock,
// since threads may start late.
double peak_of_threads(Isa isa);

namespace avx512vnni {
std::int64_t run_peak(std::int64_t rounds);
}
namespace amx {
std::int64_t run_peak(std::int64_t rounds);
}

}  // namespace nibble::inline kernels
