// SPDX-License-Identifier: Apache-2.0
// Which instruction-set path runs: the best the machine has, or the one NIBBLE_ISA names.
#pragma once

#include <span>
#include <string_view>

namespace nibble {

// In order of preference, last is best. `reference` is the scalar definition itself;
// `portable` is the fast algorithm compiled for the baseline of the platform.
// Each of the others includes those before it.
enum class Isa { reference, portable, avx2, avx512, avx512vnni, amx };

std::string_view name_of(Isa isa);

std::span<const Isa> supported_isas();  // those this machine and this build can run, ascending

// The path kernels must take: set_isa, else NIBBLE_ISA, else the best supported one.
// An unknown or unsupported name in NIBBLE_ISA is an error that lists the supported ones.
Isa active_isa();
void set_isa(Isa isa);
void reset_isa();  // NIBBLE_ISA is read again

// The path that a kernel takes under `isa` when it only has `paths` (ascending, from `reference`):
// the best of them that is not beyond `isa`.
Isa best_path(std::span<const Isa> paths, Isa isa);

// Kernels report the path they took, so that a test can check that the forced one really ran.
void report_isa_used(Isa isa);
Isa last_isa_used();

}  // namespace nibble
