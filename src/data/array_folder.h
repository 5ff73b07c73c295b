// SPDX-License-Identifier: Apache-2.0
// A data set of one's own: a folder of .npy files, as load_dataset describes it.
#pragma once

#include <filesystem>

#include "nibble/data/dataset.h"

namespace nibble::inline data {

bool has_array_split(const std::filesystem::path& folder, Split split);

// Whether a folder holds the arrays of any split.
bool is_array_folder(const std::filesystem::path& folder);

Dataset read_array_folder(const std::filesystem::path& folder, Split split);

}  // namespace nibble::inline data
