// SPDX-License-Identifier: Apache-2.0
// The part of nibble signature that trains in integers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nibble {

// What was trained, and the hash of its weights and last answers. The long ones are 50 steps of
// VGG-small-7: seconds with VNNI, hours by the definition. `device` computes, and changes no hash.
std::vector<std::pair<std::string, std::uint64_t>> integer_hashes(bool is_long,
                                                                  const std::string& device);

}  // namespace nibble
