// SPDX-License-Identifier: Apache-2.0
// The part of nibble signature that runs integer networks in the engine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nibble {

// Names and hashes; they do not depend on path, threads or machine.
std::vector<std::pair<std::string, std::uint64_t>> inference_hashes();

}  // namespace nibble
