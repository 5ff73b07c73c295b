// SPDX-License-Identifier: Apache-2.0
// Measured costs in a file, under the machine and the work that they are of.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "placement/costs.h"

namespace nibble::inline placement {

// This build, processor, instructions, threads and what both devices say of themselves: costs of
// another build or machine are not used.
std::string hardware_fingerprint(const std::array<std::string, 2>& devices);

// NIBBLE_PLACEMENT, else ~/.cache/nibble/placement.json.
std::filesystem::path cost_cache_path();

// Nothing where the file has none, has them of another number of units, or is no such file.
std::optional<StepCosts> cached_costs(const std::filesystem::path& path,
                                      const std::string& hardware, const std::string& work,
                                      std::size_t units);
// Beside what the file has of other work.
void cache_costs(const std::filesystem::path& path, const std::string& hardware,
                 const std::string& work, const StepCosts& costs);

}  // namespace nibble::inline placement
