// SPDX-License-Identifier: Apache-2.0
// Pictures as a data set, however they are kept: classes in folders, archives, lists, or no
// classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "data/picture_folder.h"
#include "data/picture_form.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {

// Pictures in tar archives, as load_dataset describes them.

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

// None: the folder or file holds no pictures that load_dataset takes.
std::optional<Dataset> find_picture_set(const std::filesystem::path& path, Split split,
                                        const LoadOptions& options);

// What they become: as they are where all of both splits have the size that options.input asks for
// and no list names them, else what LoadOptions says.
PictureForm form_of(const LabelledPictures& pictures, const std::filesystem::path& path,
                    Split split, const LoadOptions& options);

// Bytes of decoded pictures that a set holds at most: NIBBLE_DATA_IN_MEMORY, else `otherwise`.
std::int64_t most_in_memory(std::int64_t otherwise = std::int64_t{128} << 20);

// The same as a list. A set without folders train and test is taken as either split. Archives are
// classes by their names only where classes are wanted.
enum class Classes : std::uint8_t { optional, wanted };
LabelledPictures list_picture_set(const std::filesystem::path& path, Split split,
                                  Classes classes = Classes::optional);

}  // namespace nibble::inline data
