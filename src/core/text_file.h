// SPDX-License-Identifier: Apache-2.0
// Small files of text that people write: networks, policies, recipes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nibble::inline core {

// The whole file. What is missing, no regular file or longer than 16 MiB is an error of `op` that
// names the path.
std::string read_text_file(const std::filesystem::path& path, std::string_view op);

}  // namespace nibble::inline core
