// SPDX-License-Identifier: Apache-2.0
// Detects the instruction sets of the machine and keeps the chosen path.
#include "core/isa.h"

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
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

struct NamedIsa {
  Isa isa;
  std::string_view name;
};

constexpr NamedIsa kIsas[] = {
    {Isa::reference, "reference"}, {Isa::portable, "portable"},     {Isa::avx2, "avx2"},
    {Isa::avx512, "avx512"},       {Isa::avx512vnni, "avx512vnni"}, {Isa::amx, "amx"}};

constexpr int kNotChosen = -1;
std::atomic<int> chosen{kNotChosen};
std::atomic<Isa> last_used{Isa::reference};

#ifdef __x86_64__

bool machine_has_avx2() {
  // Clang 14 does not know the name "f16c"; the bit is read here, avx2 answers for the system.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c;
}

bool machine_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

// Linux gives the tile registers to processes that ask for them.
bool machine_has_amx() {
#ifdef __linux__
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

IsaFeatures features_of_processor() {
  IsaFeatures features = 0;
  if (machine_has_avx2()) features |= isa_feature::avx2;
  if (machine_has_avx512()) features |= isa_feature::avx512;
  if (__builtin_cpu_supports("avx512vnni")) features |= isa_feature::avx512vnni;
  if (machine_has_amx()) features |= isa_feature::amx;
  return features;
}

#else

IsaFeatures features_of_processor() {
  return 0;
}

#endif

std::vector<Isa> detect() {
  const IsaFeatures machine = isa_feature::fast | features_of_processor();
  std::vector<Isa> isas;
  for (const NamedIsa& each : kIsas) {
    if (includes(machine, features_of(each.isa))) isas.push_back(each.isa);
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
  const auto* found = std::ranges::find(kIsas, isa, &NamedIsa::isa);
  return found == std::end(kIsas) ? "unknown" : found->name;
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

void report_isa_used(Isa isa) {
  last_used.store(isa, std::memory_order_relaxed);
}

Isa last_isa_used() {
  return last_used.load(std::memory_order_relaxed);
}

}  // namespace nibble::inline core
