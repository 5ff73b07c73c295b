// SPDX-License-Identifier: Apache-2.0
// What /proc says of the machine and of this process.
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <thread>

#include "nibble/core/isa.h"
#include "nibble/core/parallel.h"
#include "nibble/run/provenance.h"

namespace nibble {
namespace {

std::string trimmed(std::string text) {
  const auto is_kept = [](char c) { return c != ' ' && c != '\t' && c != '"'; };
  text.erase(text.begin(), std::find_if(text.begin(), text.end(), is_kept));
  text.erase(std::find_if(text.rbegin(), text.rend(), is_kept).base(), text.end());
  return text;
}

// The value of the first line "key <separator> value"; empty where there is none.
std::string field_of(const char* path, std::string_view key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t split = line.find(separator);
    if (split != std::string::npos && trimmed(line.substr(0, split)) == key) {
      return trimmed(line.substr(split + 1));
    }
  }
  return "";
}

double kibibytes_of(const char* path, std::string_view key) {
  const std::string text = field_of(path, key, ':');
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string cpu_name(const utsname& system) {
  for (const char* key : {"model name", "Model", "Hardware"}) {
    if (std::string name = field_of("/proc/cpuinfo", key, ':'); !name.empty()) return name;
  }
  return system.machine[0] != '\0' ? system.machine : "unknown";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::string os_name(const utsname& system) {
  const std::string name = field_of("/etc/os-release", "PRETTY_NAME", '=');
  const std::string kernel = std::string(system.sysname) + " " + system.release;
  return name.empty() ? kernel : name + ", " + kernel;
}

}  // namespace

Machine this_machine() {
  utsname system = {};
  (void)::uname(&system);
  return {.cpu = cpu_name(system),
          .cores = usable_cores(),
          .threads = thread_count(),
          .isa = std::string(name_of(active_isa())),
          .memory_gib = kibibytes_of("/proc/meminfo", "MemTotal") / (1024.0 * 1024.0),
          .os = os_name(system)};
}

double peak_memory_mib() {
  return kibibytes_of("/proc/self/status", "VmHWM") / 1024.0;
}

}  // namespace nibble
