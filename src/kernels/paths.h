// SPDX-License-Identifier: Apache-2.0
// The paths of an operation: the same functions for each instruction set.
//
// Each operation has one list, a macro that names its paths from the definition to the best:
//   #define NIBBLE_…_PATHS(PATH) PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2))
// It declares their functions and makes the table that the operation chooses from, and that its
// tests and benches run through.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/isa.h"

#ifdef __x86_64__
#define NIBBLE_ON_X86(...) __VA_ARGS__
#else
#define NIBBLE_ON_X86(...)
#endif

namespace nibble::inline kernels {

template <class Kernel>
struct KernelPath {
  Isa isa;
  Kernel kernel;  // a pointer to a table of functions, or to one function
};

// The best where `isa` was chosen; the first one runs everywhere.
template <class Kernel, std::size_t N>
const KernelPath<Kernel>& best_path(const KernelPath<Kernel> (&paths)[N], Isa isa) {
  std::size_t best = N - 1;
  while (best > 0 && !allows(isa, paths[best].isa)) --best;
  return paths[best];
}

// Those of this machine.
template <class Kernel, std::size_t N>
std::vector<KernelPath<Kernel>> supported_paths(const KernelPath<Kernel> (&paths)[N]) {
  std::vector<KernelPath<Kernel>> result;
  for (const KernelPath<Kernel>& path : paths) {
    const auto isas = supported_isas();
    if (std::ranges::find(isas, path.isa) != isas.end()) result.push_back(path);
  }
  return result;
}

}  // namespace nibble::inline kernels
