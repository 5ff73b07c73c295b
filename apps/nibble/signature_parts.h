// SPDX-License-Identifier: Apache-2.0
// The parts of nibble signature that take networks: names and hashes, which do not depend on path,
// threads or machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nibble {

// Integer networks in the engine.
// Names and hashes; they do not depend on path, threads or machine.
std::vector<std::pair<std::string, std::uint64_t>> inference_hashes();

// Training in integers.
// What was trained, and the hash of its weights and last answers. The long ones are 50 steps of
// VGG-small-7: seconds with VNNI, hours by the definition. `device` computes, and changes no hash.
std::vector<std::pair<std::string, std::uint64_t>> integer_hashes(bool is_long,
                                                                  const std::string& device);

}  // namespace nibble
