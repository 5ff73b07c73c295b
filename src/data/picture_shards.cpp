// SPDX-License-Identifier: Apache-2.0
// Members of tar archives with the classes that their names, or members beside them, tell.
#include "data/picture_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "data/array_set.h"
#include "data/file_bytes.h"
#include "data/tar.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

bool is_archive_name(const std::string& name) {
  return fs::path(name).extension() == ".tar";
}

bool is_archive(const fs::path& path) {
  std::error_code ignored;
  return is_archive_name(path.string()) && fs::is_regular_file(path, ignored);
}

std::vector<fs::path> archives_of(const fs::path& path) {
  if (is_archive(path)) return {path};
  std::vector<fs::path> archives;
  for (const std::string& name : names_in(path, NameKind::files)) {
    if (is_archive_name(name)) archives.push_back(path / name);
  }
  return archives;
}

fs::path split_of(const fs::path& path, Split split) {
  if (is_archive(path)) return path;
  const PictureSplits splits = picture_splits(path);
  if (split == Split::train) return splits.train;
  if (splits.test.empty()) {
    throw Error("load_dataset", path.string() + ": test split", "a folder without one",
                "folders train and test (or val)", ErrorKind::input);
  }
  return splits.test;
}

// KEY of KEY.jpg and KEY.cls.
std::string key_of(const std::string& name) {
  return fs::path(name).replace_extension().string();
}

std::int32_t read_class(const fs::path& archive, const TarMember& member) {
  constexpr std::uint64_t kMostDigits = 16;
  std::string text(static_cast<std::size_t>(std::min(member.bytes, kMostDigits)), '\0');
  FileReader(archive, "load_dataset").read(member.offset, std::as_writable_bytes(std::span(text)));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::int32_t label = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (member.bytes > kMostDigits || error != std::errc() || end != text.data() + text.size() ||
      label < 0 || label >= kMostClasses) {
    throw Error("load_dataset", fmt::format("{}: {}", archive.string(), member.name),
                "'" + text + "'", fmt::format("a class of 0 to {}", kMostClasses - 1),
                ErrorKind::input);
  }
  return label;
}

// A picture's class: a word, or a number, or none of them.
struct FoundClass {
  std::uint32_t archive = 0;
  std::string word = {};
  std::int32_t number = PictureList::kNoLabel;
};

class ShardReader {
 public:
  ShardReader(const fs::path& place, bool is_labelled) : archives_(archives_of(place)) {
    for (const fs::path& archive : archives_) read(archive);
    if (is_labelled && archives_.size() > 1) take_archives_as_classes();
    if (list_.empty()) {
      throw Error("load_dataset", place.string() + ": pictures", "none",
                  "KEY.jpg, .jpeg or .png in its archives", ErrorKind::input);
    }
  }

  std::vector<std::string> words() const {
    std::vector<std::string> words;
    for (const FoundClass& each : classes_) {
      if (!each.word.empty()) words.push_back(each.word);
    }
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
  }

  // By `words`, those of the train split, or by the numbers found.
  LabelledPictures labelled(std::vector<std::string> words) && {
    std::int32_t most = -1;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const FoundClass& found = classes_[i];
      if (found.word.empty() != words.empty() ||
          (words.empty() && (found.number < 0) != (classes_[0].number < 0))) {
        throw Error("load_dataset", list_.name(i), "no class as the others have it",
                    "CLASS/FILE.jpg, or KEY.cls beside KEY.jpg, for all or for none",
                    ErrorKind::input);
      }
      most = std::max(most, found.number);
      if (!words.empty()) {
        const auto at = std::ranges::lower_bound(words, found.word);
        if (at == words.end() || *at != found.word) {
          throw Error("load_dataset", list_.name(i) + ": class", "'" + found.word + "'",
                      "a class of the train split", ErrorKind::input);
        }
        list_.set_label(i, static_cast<std::int32_t>(at - words.begin()));
      } else {
        list_.set_label(i, found.number);
      }
    }
    for (std::int32_t number = 0; number <= most; ++number) words.push_back(std::to_string(number));
    return {std::move(list_), std::move(words)};
  }

 private:
  void read(const fs::path& archive) {
    const std::vector<TarMember> members = list_tar(archive);
    std::map<std::string, const TarMember*> classes;  // by key
    for (const TarMember& each : members) {
      if (fs::path(each.name).extension() == ".cls") classes[key_of(each.name)] = &each;
    }
    const std::uint32_t place = list_.add_place(archive);
    for (const TarMember& each : members) {
      if (!is_picture_name(each.name)) continue;
      list_.add_member(place, each.name, PictureList::kNoLabel, each.offset, each.bytes);
      FoundClass found{.archive = place};
      const std::string folder = fs::path(each.name).parent_path().filename().string();
      const auto beside = classes.find(key_of(each.name));
      if (!folder.empty() && folder != ".") {
        found.word = folder;
      } else if (beside != classes.end()) {
        found.number = read_class(archive, *beside->second);
      }
      classes_.push_back(std::move(found));
    }
  }

  // Where nothing else says a class.
  void take_archives_as_classes() {
    const auto has_class = [](const FoundClass& found) {
      return !found.word.empty() || found.number >= 0;
    };
    if (std::ranges::any_of(classes_, has_class)) return;
    for (FoundClass& each : classes_) each.word = archives_[each.archive].stem().string();
  }

  std::vector<fs::path> archives_;
  PictureList list_;
  std::vector<FoundClass> classes_;
};

}  // namespace

bool has_picture_shards(const fs::path& path) {
  std::error_code ignored;
  if (is_archive(path)) return true;
  return fs::is_directory(path, ignored) && !archives_of(picture_splits(path).train).empty();
}

LabelledPictures list_picture_shards(const fs::path& path, Split split, bool is_labelled) {
  const fs::path place = split_of(path, split);
  ShardReader wanted(place, is_labelled);
  std::vector<std::string> words = wanted.words();
  if (split == Split::test && !words.empty() && !is_archive(path))
    words = ShardReader(split_of(path, Split::train), is_labelled).words();
  check_class_names(words, place.string());
  return std::move(wanted).labelled(std::move(words));
}

}  // namespace nibble::inline data
