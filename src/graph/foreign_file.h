// SPDX-License-Identifier: Apache-2.0
// What a file is that is no .nib model, by its first bytes, and what to do with it.
#pragma once

#include <filesystem>

namespace nibble::inline graph {

// Throws "[read_model] PATH: got WHAT, expected a .nib model: ADVICE" where the path is a folder or
// a file of a known other kind. Models, files that are not there and all else pass.
void refuse_foreign_file(const std::filesystem::path& path);

}  // namespace nibble::inline graph
