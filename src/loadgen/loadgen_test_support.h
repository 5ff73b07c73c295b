// SPDX-License-Identifier: Apache-2.0
// For tests: folders as runs leave them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/test_support.h"
#include "loadgen/load_result.h"

namespace nibble::inline loadgen {

// An Offline run of this speed whose accuracy log has these lines.
inline void put_run(const TemporaryFolder& folder, const std::string& name, double speed,
                    const std::string& answers) {
  std::filesystem::create_directory(folder.path() / name);
  folder.put(name + "/settings.json",
             R"({"scenario": "Offline", "mode": "performance", "model": "a/net.nib", "batch": 4})");
  folder.put(fmt::format("{}/{}", name, kDetailLog),
             fmt::format(":::MLLOG {{\"key\": \"result_validity\", \"value\": \"VALID\"}}\n"
                         ":::MLLOG {{\"key\": \"result_samples_per_second\", \"value\": {}}}\n",
                         speed));
  folder.put(fmt::format("{}/{}", name, kAccuracyLog), "[" + answers + "]");
}

}  // namespace nibble::inline loadgen
