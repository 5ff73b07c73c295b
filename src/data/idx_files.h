// SPDX-License-Identifier: Apache-2.0
// Which IDX files make a data set, and where in a folder they are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "nibble/data/dataset.h"

namespace nibble {

// File names without the .gz that each may have.
struct IdxFiles {
  std::string images;
  std::string labels;
};

// digits has one pair of files for both splits, all others have MNIST's four.
IdxFiles idx_files_of(std::string_view dataset, Split split);

// NAME or NAME.gz in a folder.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder,
                                              const std::string& name);

}  // namespace nibble
