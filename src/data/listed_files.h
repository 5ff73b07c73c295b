// SPDX-License-Identifier: Apache-2.0
// A folder of files with their labels in a list, as MLPerf keeps ImageNet's pictures: val_map.txt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture_folder.h"

namespace nibble::inline data {

struct ListedFile {
  std::filesystem::path path;
  std::int32_t label = 0;  // or PictureList::kNoLabel, of all files or of none
  std::int64_t index = 0;  // of the line, from 0: the number of the example everywhere else
};

// Whether val_map.txt lies in the folder, or beside one that load_dataset does not know.
bool has_file_list(const std::filesystem::path& folder);

// Lines NAME<blanks>LABEL; NAME is a file of the folder, itself or with .npy after it. A part of
// the files may be absent, but not all. LABEL is "-" in all lines where nobody knows the labels.
std::vector<ListedFile> read_file_list(const std::filesystem::path& folder);

// Labels alone: those of the files that are there, or of all lines where none of them is. Throws
// where the list has none.
std::vector<std::int32_t> read_listed_labels(const std::filesystem::path& folder);

// Throws where the list has no labels.
void check_labelled(const std::vector<ListedFile>& files, const std::filesystem::path& folder);

// The same files as pictures; classes are the numbers up to the largest label, none without labels.
LabelledPictures list_listed_pictures(const std::filesystem::path& folder);

struct FileLine {
  std::string name;
  std::int32_t label = 0;  // or PictureList::kNoLabel
};
// Throws, naming the line, where it is not of that form.
std::vector<FileLine> parse_file_list(std::string_view text, const std::string& name);

}  // namespace nibble::inline data
