// SPDX-License-Identifier: Apache-2.0
// Which instruction-set path runs: the best the machine has, or the one NIBBLE_ISA names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nibble::inline core {

// The paths by name. `reference` is the scalar definition itself; `portable` is the fast algorithm
// compiled for the baseline of the platform; the others use more of the processor. Where a machine
// has several, the one that stands last here is the best.
enum class Isa { reference, portable, avx2, avx512, avx512vnni, amx };

// What a path uses, as a set with a bit for each. Sets have no order: one may neither include the
// other.
using IsaFeatures = std::uint32_t;

namespace isa_feature {
inline constexpr IsaFeatures fast = 1;    // algorithms made for speed, not to be read
inline constexpr IsaFeatures avx2 = 2;    // with FMA and F16C
inline constexpr IsaFeatures avx512 = 4;  // F, BW, DQ and VL
inline constexpr IsaFeatures avx512vnni = 8;
inline constexpr IsaFeatures amx = 16;  // tiles of int8
}  // namespace isa_feature

constexpr IsaFeatures features_of(Isa isa) {
  switch (isa) {
    case Isa::reference:
      return 0;
    case Isa::portable:
      return isa_feature::fast;
    case Isa::avx2:
      return features_of(Isa::portable) | isa_feature::avx2;
    case Isa::avx512:
      return features_of(Isa::avx2) | isa_feature::avx512;
    case Isa::avx512vnni:
      return features_of(Isa::avx512) | isa_feature::avx512vnni;
    case Isa::amx:
      return features_of(Isa::avx512vnni) | isa_feature::amx;
  }
  return 0;
}

constexpr bool includes(IsaFeatures all, IsaFeatures some) {
  return (some & ~all) == 0;
}

// Whether kernels of `path` may run where `isa` was chosen.
constexpr bool allows(Isa isa, Isa path) {
  return includes(features_of(isa), features_of(path));
}

std::string_view name_of(Isa isa);

std::span<const Isa> supported_isas();  // those this machine can run, the best one last

// The path kernels must take: set_isa, else NIBBLE_ISA, else the best supported one.
// An unknown or unsupported name in NIBBLE_ISA is an error that lists the supported ones.
Isa active_isa();
void set_isa(Isa isa);
void reset_isa();  // NIBBLE_ISA is read again

// Kernels report the path they took, so that a test can check that the forced one really ran.
void report_isa_used(Isa isa);
Isa last_isa_used();

}  // namespace nibble::inline core
