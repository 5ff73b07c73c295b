// SPDX-License-Identifier: Apache-2.0
// Reads val_map.txt and looks for its files.
#include "data/listed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>

#include "core/text_file.h"
#include "data/array_set.h"
#include "data/picture_folder.h"
#include "data/picture_set.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "val_map.txt";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kUnknown = "-";  // in place of a label

bool is_listed_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::optional<fs::path> list_of(const fs::path& folder) {
  const fs::path clean = fs::absolute(folder).lexically_normal();
  const fs::path parent = (clean.has_filename() ? clean : clean.parent_path()).parent_path();
  for (const fs::path& place : {folder, parent}) {
    if (is_listed_file(place / kList)) return place / kList;
  }
  return std::nullopt;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

FileLine parse_line(std::string_view line, const std::string& where) {
  const std::string_view name = take_word(line);
  const std::string_view label = take_word(line);
  FileLine result{.name = std::string(name), .label = PictureList::kNoLabel};
  const char* end = label.data() + label.size();
  const auto [last, error] = std::from_chars(label.data(), end, result.label);
  const bool is_label = !label.empty() && error == std::errc() && last == end &&
                        result.label >= 0 && result.label < kMostClasses;
  if ((!is_label && label != kUnknown) || !take_word(line).empty()) {
    throw Error("file list", where, fmt::format("'{}'", label.substr(0, 32)),
                fmt::format("NAME and a label of 0 to {}", kMostClasses - 1), ErrorKind::input);
  }
  if (name.find('/') != std::string_view::npos)
    throw Error("file list", where, "a name with '/'", "a file of the folder", ErrorKind::input);
  return result;
}

std::vector<FileLine> lines_of(const fs::path& folder) {
  const std::optional<fs::path> list = list_of(folder);
  if (!list) {
    throw Error("file list", folder.string(), "no val_map.txt", "one there or beside the folder",
                ErrorKind::input);
  }
  return parse_file_list(read_text_file(*list, "file list"), list->string());
}

[[noreturn]] void refuse_unlabelled(const fs::path& folder) {
  throw Error("file list", folder.string(), "files without labels",
              "NAME LABEL in val_map.txt: only what asks for no answers takes '-'",
              ErrorKind::input);
}

// Calls found(index of the line, line, name of the file) for those that are there.
template <class Found>
void for_each_present(const fs::path& folder, const std::vector<FileLine>& lines,
                      const Found& found) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const char* ending : {"", ".npy"}) {
      const std::string name = lines[i].name + ending;
      if (!is_listed_file(folder / name)) continue;
      found(i, lines[i], name);
      break;
    }
  }
}

// The same, of one file or more.
template <class Found>
void for_each_file(const fs::path& folder, const Found& found) {
  const std::vector<FileLine> lines = lines_of(folder);
  bool has_file = false;
  for_each_present(folder, lines,
                   [&](std::size_t i, const FileLine& line, const std::string& name) {
                     found(i, line, name);
                     has_file = true;
                   });
  if (!has_file) {
    throw Error("file list", folder.string() + ": files",
                fmt::format("none of the {} of {}", lines.size(), list_of(folder)->string()),
                "NAME or NAME.npy, one or more", ErrorKind::input);
  }
}

}  // namespace

bool has_file_list(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return false;
  return is_listed_file(folder / kList) ||
         (list_of(folder).has_value() && !is_array_folder(folder) && !is_picture_folder(folder) &&
          !has_picture_shards(folder));
}

std::vector<FileLine> parse_file_list(std::string_view text, const std::string& name) {
  std::vector<FileLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    const std::string where = fmt::format("{}, line {}", name, number);
    lines.push_back(parse_line(line, where));
    if ((lines.back().label < 0) != (lines.front().label < 0)) {
      throw Error("file list", where, lines.back().label < 0 ? "no label" : "a label",
                  "one in all lines or in none", ErrorKind::input);
    }
  }
  return lines;
}

std::vector<ListedFile> read_file_list(const fs::path& folder) {
  std::vector<ListedFile> files;
  for_each_file(folder, [&](std::size_t index, const FileLine& line, const std::string& name) {
    files.push_back({folder / name, line.label, static_cast<std::int64_t>(index)});
  });
  return files;
}

std::vector<std::int32_t> read_listed_labels(const fs::path& folder) {
  const std::vector<FileLine> lines = lines_of(folder);
  if (!lines.empty() && lines.front().label < 0) refuse_unlabelled(folder);
  std::vector<std::int32_t> labels;
  for_each_present(folder, lines, [&](std::size_t, const FileLine& line, const std::string&) {
    labels.push_back(line.label);
  });
  if (labels.empty()) std::ranges::transform(lines, std::back_inserter(labels), &FileLine::label);
  return labels;
}

void check_labelled(const std::vector<ListedFile>& files, const fs::path& folder) {
  if (!files.empty() && files.front().label < 0) refuse_unlabelled(folder);
}

LabelledPictures list_listed_pictures(const fs::path& folder) {
  LabelledPictures pictures;
  const std::uint32_t place = pictures.list.add_place(folder);
  std::int32_t most = PictureList::kNoLabel;
  for_each_file(folder, [&](std::size_t, const FileLine& line, const std::string& name) {
    if (name.ends_with(".npy")) {
      throw Error("load_dataset", (folder / name).string(), "a tensor", "pictures of val_map.txt",
                  ErrorKind::input);
    }
    pictures.list.add(place, name, line.label);
    most = std::max(most, line.label);
  });
  for (std::int32_t label = 0; label <= most; ++label)
    pictures.class_names.push_back(std::to_string(label));
  return pictures;
}

}  // namespace nibble::inline data
