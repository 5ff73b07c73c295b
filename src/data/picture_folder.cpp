// SPDX-License-Identifier: Apache-2.0
// Lists classes and pictures of folders.
#include "data/picture_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "core/name.h"
#include "data/array_set.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The pictures of a split; its classes have to be among those of the train split.
PictureList files_in(const fs::path& folder, const std::vector<std::string>& classes) {
  PictureList list;
  for (const std::string& name : names_in(folder, NameKind::folders)) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
      throw Error("load_dataset", folder.string() + ": class", "'" + name + "'",
                  "a class of the train split", ErrorKind::input);
    }
    const std::uint32_t place = list.add_place(folder / name);
    for (const std::string& file : names_in(folder / name, NameKind::files)) {
      if (is_picture_name(file))
        list.add(place, file, static_cast<std::int32_t>(found - classes.begin()));
    }
  }
  return list;
}

}  // namespace

std::vector<std::string> names_in(const fs::path& folder, NameKind kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool is_wanted =
        kind == NameKind::folders ? entry->is_directory(ignored) : entry->is_regular_file(ignored);
    if (is_wanted && !name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error)
    throw Error("load_dataset", folder.string() + ": " + error.message(), ErrorKind::system);
  std::ranges::sort(names);
  return names;
}

bool is_picture_name(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

PictureSplits picture_splits(const fs::path& folder) {
  if (!is_folder(folder / "train")) return {.train = folder, .test = {}};
  for (const char* name : {"test", "val"}) {
    if (is_folder(folder / name)) return {.train = folder / "train", .test = folder / name};
  }
  return {.train = folder / "train", .test = {}};
}

void check_class_names(const std::vector<std::string>& names, const std::string& where) {
  for (const std::string& each : names) check_name("load_dataset", where + ": class", each);
  if (std::cmp_greater(names.size(), kMostClasses)) {
    throw Error("load_dataset", where + ": classes", std::to_string(names.size()),
                fmt::format("1 to {}", kMostClasses), ErrorKind::limit);
  }
}

bool is_picture_folder(const fs::path& folder) {
  const PictureSplits splits = picture_splits(folder);
  return std::ranges::any_of(names_in(splits.train, NameKind::folders), [&](const auto& name) {
    return std::ranges::any_of(names_in(splits.train / name, NameKind::files), is_picture_name);
  });
}

bool has_picture_split(const fs::path& folder, Split split) {
  return split == Split::train || !picture_splits(folder).test.empty();
}

bool has_unlabelled_pictures(const fs::path& folder) {
  return std::ranges::any_of(names_in(picture_splits(folder).train, NameKind::files),
                             is_picture_name);
}

LabelledPictures list_unlabelled(const fs::path& folder) {
  const fs::path source = picture_splits(folder).train;
  LabelledPictures pictures;
  const std::uint32_t place = pictures.list.add_place(source);
  for (const std::string& name : names_in(source, NameKind::files)) {
    if (is_picture_name(name)) pictures.list.add(place, name, PictureList::kNoLabel);
  }
  return pictures;
}

LabelledPictures list_class_folders(const fs::path& folder, Split split) {
  const PictureSplits splits = picture_splits(folder);
  if (split == Split::test && splits.test.empty()) {
    throw Error("load_dataset", folder.string() + ": test split", "a folder without one",
                "folders train and test (or val)", ErrorKind::input);
  }
  LabelledPictures pictures;
  pictures.class_names = names_in(splits.train, NameKind::folders);
  check_class_names(pictures.class_names, splits.train.string());
  const fs::path& wanted = split == Split::train ? splits.train : splits.test;
  pictures.list = files_in(wanted, pictures.class_names);
  if (pictures.list.empty()) {
    throw Error("load_dataset", wanted.string() + ": pictures", "none",
                "CLASS/FILE.png, .jpg or .jpeg", ErrorKind::input);
  }
  return pictures;
}

}  // namespace nibble::inline data
