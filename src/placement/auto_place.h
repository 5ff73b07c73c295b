// SPDX-License-Identifier: Apache-2.0
// What a place of auto asks for: between which devices, and how much the second one may hold.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace nibble::inline placement {

struct AutoPlace {
  std::array<std::string, 2> devices;
  std::int64_t most_memory = 0;  // bytes that may be on the second device; 0: any

  bool has_choice() const { return devices[0] != devices[1]; }
};

// "auto": the CPU and the first GPU, if any; "auto(cpu,cuda:1)"; with " within 2GB" behind it, or
// 512MiB, or a number that counts MiB.
AutoPlace parse_auto(std::string_view place);

}  // namespace nibble::inline placement
