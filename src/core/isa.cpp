// SPDX-License-Identifier: Apache-2.0
// Detects the instruction sets of the machine and keeps the chosen path.
#include "nibble/core/isa.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

// Whether the build has the path at all; the build system may say 0.
#ifndef NIBBLE_HAS_AVX2
#ifdef __x86_64__
#define NIBBLE_HAS_AVX2 1
#else
#define NIBBLE_HAS_AVX2 0
#endif
#endif
#ifndef NIBBLE_HAS_AVX512
#ifdef __x86_64__
#define NIBBLE_HAS_AVX512 1
#else
#define NIBBLE_HAS_AVX512 0
#endif
#endif

namespace nibble {
namespace {

constexpr int kNotChosen = -1;
std::atomic<int> chosen{kNotChosen};
std::atomic<Isa> last_used{Isa::reference};

bool machine_has_avx2() {
#if defined(__x86_64__) && NIBBLE_HAS_AVX2
  // Clang 14 does not know the name "f16c"; the bit is read here, avx2 answers for the system.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c;
#else
  return false;
#endif
}

bool machine_has_avx512() {
#if defined(__x86_64__) && NIBBLE_HAS_AVX512
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

bool machine_has_avx512vnni() {
#if defined(__x86_64__) && NIBBLE_HAS_AVX512
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

// Linux gives the tile registers to processes that ask for them.
bool machine_has_amx() {
#if defined(__x86_64__) && defined(__linux__) && NIBBLE_HAS_AVX512
  constexpr unsigned kAmxTile = 1U << 24;
  constexpr unsigned kAmxInt8 = 1U << 25;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAmxTile) != 0 &&
         (edx & kAmxInt8) != 0 && ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

std::vector<Isa> detect() {
  std::vector<Isa> isas{Isa::reference, Isa::portable};
  constexpr std::pair<Isa, bool (*)()> kFurther[] = {{Isa::avx2, machine_has_avx2},
                                                     {Isa::avx512, machine_has_avx512},
                                                     {Isa::avx512vnni, machine_has_avx512vnni},
                                                     {Isa::amx, machine_has_amx}};
  for (const auto& [isa, machine_has] : kFurther) {
    if (!machine_has()) break;
    isas.push_back(isa);
  }
  return isas;
}

std::string supported_names() {
  std::string names = "one of";
  for (const Isa isa : supported_isas()) names.append(" ").append(name_of(isa));
  return names;
}

Isa isa_from_environment() {
  const auto isas = supported_isas();
  const char* variable = std::getenv("NIBBLE_ISA");
  if (variable == nullptr || *variable == '\0') return isas.back();
  const std::string_view name = variable;
  const auto found =
      std::find_if(isas.begin(), isas.end(), [&](Isa isa) { return name_of(isa) == name; });
  if (found == isas.end()) throw Error("isa", "NIBBLE_ISA", name, supported_names());
  return *found;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::reference:
      return "reference";
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512vnni:
      return "avx512vnni";
    case Isa::amx:
      return "amx";
  }
  return "unknown";
}

std::span<const Isa> supported_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

Isa active_isa() {
  int isa = chosen.load(std::memory_order_relaxed);
  if (isa != kNotChosen) return static_cast<Isa>(isa);
  // The exchange fails when set_isa came between; its choice then stands.
  const int from_environment = static_cast<int>(isa_from_environment());
  if (chosen.compare_exchange_strong(isa, from_environment)) isa = from_environment;
  return static_cast<Isa>(isa);
}

void set_isa(Isa isa) {
  const auto isas = supported_isas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end()) {
    throw Error("set_isa", "instruction set", name_of(isa), supported_names());
  }
  chosen.store(static_cast<int>(isa));
}

void reset_isa() {
  chosen.store(kNotChosen);
}

Isa best_path(std::span<const Isa> paths, Isa isa) {
  return *std::prev(std::upper_bound(paths.begin(), paths.end(), isa));
}

void report_isa_used(Isa isa) {
  last_used.store(isa, std::memory_order_relaxed);
}

Isa last_isa_used() {
  return last_used.load(std::memory_order_relaxed);
}

}  // namespace nibble
