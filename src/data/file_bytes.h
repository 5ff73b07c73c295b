// SPDX-License-Identifier: Apache-2.0
// A whole file in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace nibble::inline data {

// Throws "[op] cannot read PATH: why".
std::vector<std::byte> read_file_bytes(const std::filesystem::path& path, std::string_view op);

}  // namespace nibble::inline data
