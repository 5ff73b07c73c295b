// SPDX-License-Identifier: Apache-2.0
// Pictures in tar archives, as load_dataset describes them.
#pragma once

#include <filesystem>

#include "data/picture_folder.h"

namespace nibble::inline data {

// A file X.tar, or a folder that holds such files, itself or in train.
bool has_picture_shards(const std::filesystem::path& path);

// Archives in the order of their names, members in the order in which they lie. The class of a
// picture is, the first of these that there is,
//   - the folder in which it lies inside its archive, CLASS/FILE.jpg,
//   - the number in the member KEY.cls beside KEY.jpg,
//   - its archive, CLASS.tar, where a split has several and `is_labelled` asks for classes.
// All pictures of a split have a class, or none.
LabelledPictures list_picture_shards(const std::filesystem::path& path, Split split,
                                     bool is_labelled);

}  // namespace nibble::inline data
