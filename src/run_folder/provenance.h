// SPDX-License-Identifier: Apache-2.0
// Where a result comes from: version, commit, machine, command, time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nibble::inline run_folder {

struct Machine {
  std::string cpu = {};  // "unknown" where the system does not say
  int cores = 0;         // logical, that the process may use
  int threads = 0;       // of parallel_for
  std::string isa = {};  // of the kernels
  double memory_gib = 0;
  std::string os = {};
};

struct Provenance {
  std::string version = {};
  std::string commit = {};
  std::string command = {};
  std::string started = {};
  Machine machine = {};
};

Machine this_machine();
Provenance this_run();  // of this process; `started` is now

std::string_view
build_commit();                 // 12 digits, "-dirty" after them where files had changed; "unknown"
std::string_view build_type();  // of CMake, "RelWithDebInfo"
std::string build_identity();   // version, commit and type: what another build changes
std::string command_line();     // of this process, quoted as a shell reads it
std::string iso_time_now();     // UTC, "2026-01-31T12:00:00Z"
double peak_memory_mib();       // of this process so far; 0 where the system does not say

// {"nibble", "commit", "command", "started", "machine": {…}}
std::string to_json(const Provenance& provenance);

// settings.json: the keys of `provenance`, then those of `settings` (a JSON object), indented.
std::string settings_json(const Provenance& provenance, std::string_view settings);

}  // namespace nibble::inline run_folder
