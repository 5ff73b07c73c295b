// SPDX-License-Identifier: Apache-2.0
// A data set of one's own: a folder of pictures a class, as load_dataset describes it.
#pragma once

#include <filesystem>

#include "nibble/data/dataset.h"

namespace nibble::inline data {

// Whether there is a picture in a folder that can be a class.
bool is_picture_folder(const std::filesystem::path& folder);

// The train split is always there.
bool has_picture_split(const std::filesystem::path& folder, Split split);

Dataset read_picture_folder(const std::filesystem::path& folder, Split split,
                            std::int64_t image_size);

// Pictures that lie in the folder itself, or in its folder train: no class holds them.
bool has_unlabelled_pictures(const std::filesystem::path& folder);
Dataset read_unlabelled_pictures(const std::filesystem::path& folder, std::int64_t image_size);

}  // namespace nibble::inline data
