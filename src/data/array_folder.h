// SPDX-License-Identifier: Apache-2.0
// A data set of one's own: a folder of .npy files, as load_dataset describes it.
#pragma once

#include <filesystem>

#include "nibble/data/dataset.h"

namespace nibble {

Dataset read_array_folder(const std::filesystem::path& folder, Split split);

}  // namespace nibble
