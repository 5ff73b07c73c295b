// SPDX-License-Identifier: Apache-2.0
// For tests: folders as runs leave them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/test_support.h"
#include "loadgen/load_result.h"

namespace nibble::inline loadgen {

// A line of the detailed log; `value` as JSON has it.
inline std::string log_line(const std::string& key, const std::string& value) {
  return fmt::format(":::MLLOG {{\"key\": \"{}\", \"value\": {}}}\n", key, value);
}

// An Offline run of this speed whose accuracy log has these lines, and its detailed log `more`.
inline void put_run(const TemporaryFolder& folder, const std::string& name, double speed,
                    const std::string& answers, const std::string& more = "") {
  std::filesystem::create_directory(folder.path() / name);
  folder.put(name + "/settings.json",
             R"({"scenario": "Offline", "mode": "performance", "model": "a/net.nib", "batch": 4})");
  folder.put(fmt::format("{}/{}", name, kDetailLog),
             log_line("effective_scenario", "\"Offline\"") +
                 log_line("result_validity", "\"VALID\"") +
                 log_line("result_samples_per_second", std::to_string(speed)) + more);
  folder.put(fmt::format("{}/{}", name, kAccuracyLog), "[" + answers + "]");
}

}  // namespace nibble::inline loadgen
