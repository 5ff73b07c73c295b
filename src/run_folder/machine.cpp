// SPDX-License-Identifier: Apache-2.0
// What /proc says of the machine and of this process.
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <thread>

#include "core/isa.h"
#include "core/system_field.h"
#include "nibble/core/parallel.h"
#include "run_folder/provenance.h"

namespace nibble::inline run_folder {
namespace {

double kibibytes_of(const char* path, std::string_view key) {
  const std::string text = system_field(path, key, ':');
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::string os_name(const utsname& system) {
  const std::string name = system_field("/etc/os-release", "PRETTY_NAME", '=');
  const std::string kernel = std::string(system.sysname) + " " + system.release;
  return name.empty() ? kernel : name + ", " + kernel;
}

}  // namespace

Machine this_machine() {
  utsname system = {};
  (void)::uname(&system);
  return {.cpu = processor_name(),
          .cores = usable_cores(),
          .threads = thread_count(),
          .isa = std::string(name_of(active_isa())),
          .memory_gib = kibibytes_of("/proc/meminfo", "MemTotal") / (1024.0 * 1024.0),
          .os = os_name(system)};
}

double peak_memory_mib() {
  return kibibytes_of("/proc/self/status", "VmHWM") / 1024.0;
}

}  // namespace nibble::inline run_folder
