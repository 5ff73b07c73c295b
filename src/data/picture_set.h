// SPDX-License-Identifier: Apache-2.0
// Pictures as a data set, however they are kept: classes in folders, archives, lists, or no
// classes.
#pragma once

#include <filesystem>
#include <optional>

#include "data/picture_folder.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {

// None: the folder or file holds no pictures that load_dataset takes.
std::optional<Dataset> find_picture_set(const std::filesystem::path& path, Split split,
                                        const LoadOptions& options);

// The same as a list. A set without folders train and test is taken as either split.
LabelledPictures list_picture_set(const std::filesystem::path& path, Split split);

}  // namespace nibble::inline data
