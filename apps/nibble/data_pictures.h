// SPDX-License-Identifier: Apache-2.0
// nibble data check PATH: whether every picture of a folder, a list or of archives can be read.
#pragma once

#include <string>

namespace nibble {

bool is_path_of_pictures(const std::string& path);

// Reads all, prints what cannot be read and how fast the others were; throws where there is one.
void check_pictures(const std::string& path, bool is_json);

}  // namespace nibble
