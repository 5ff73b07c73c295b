// SPDX-License-Identifier: Apache-2.0
// A data set of one's own made of pictures, as load_dataset describes it: folders of classes, tar
// archives, a list of files with their labels, or pictures without classes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/picture_list.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {

// Whether there is a picture in a folder that can be a class.
bool is_picture_folder(const std::filesystem::path& folder);

// The train split is always there.
bool has_picture_split(const std::filesystem::path& folder, Split split);

// Pictures that lie in the folder itself, or in its folder train: no class holds them.
bool has_unlabelled_pictures(const std::filesystem::path& folder);

// Where the pictures of a split are; a set without folders train and test is its train split.
struct PictureSplits {
  std::filesystem::path train;
  std::filesystem::path test;  // empty: none
};
PictureSplits picture_splits(const std::filesystem::path& folder);

struct LabelledPictures {
  PictureList list;
  std::vector<std::string> class_names;  // empty: no picture has a label
};

// The train split's classes are those of the test split, too. Throws where there is no picture.
LabelledPictures list_class_folders(const std::filesystem::path& folder, Split split);
LabelledPictures list_unlabelled(const std::filesystem::path& folder);

bool is_picture_name(const std::string& name);  // by its ending

// Names in a folder in the order of their bytes; hidden ones are left out.
enum class NameKind : std::uint8_t { files, folders };
std::vector<std::string> names_in(const std::filesystem::path& folder, NameKind kind);

void check_class_names(const std::vector<std::string>& names, const std::string& where);

}  // namespace nibble::inline data
