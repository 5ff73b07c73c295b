// SPDX-License-Identifier: Apache-2.0
// Folders that verbs write into.
#pragma once

#include <filesystem>
#include <string_view>

namespace nibble {

// Makes the folder and those above it; an error of `op` names it and the reason.
void make_folder(std::string_view op, const std::filesystem::path& folder);

}  // namespace nibble
