// SPDX-License-Identifier: Apache-2.0
// A data set of one's own in one .npz file, as load_dataset describes it.
#pragma once

#include <filesystem>

#include "nibble/data/dataset.h"

namespace nibble::inline data {

bool has_npz_split(const std::filesystem::path& path, Split split);

Dataset read_npz_dataset(const std::filesystem::path& path, Split split);

}  // namespace nibble::inline data
