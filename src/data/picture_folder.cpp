// SPDX-License-Identifier: Apache-2.0
// Lists classes and pictures, decides on channels and size, decodes all pictures.
#include "data/picture_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "core/name.h"
#include "data/example_arrays.h"
#include "data/file_bytes.h"
#include "data/picture.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPicturesAtOnce = 4;

// Names in a folder in the order of their bytes; hidden ones are left out.
std::vector<std::string> names_in(const fs::path& folder, bool are_folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool is_wanted =
        are_folders ? entry->is_directory(ignored) : entry->is_regular_file(ignored);
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

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

struct Sources {
  fs::path train;
  fs::path test;  // empty: none
};

Sources sources_of(const fs::path& folder) {
  if (!is_folder(folder / "train")) return {.train = folder, .test = {}};
  for (const char* name : {"test", "val"}) {
    if (is_folder(folder / name)) return {.train = folder / "train", .test = folder / name};
  }
  return {.train = folder / "train", .test = {}};
}

struct LabelledFile {
  fs::path path;
  std::int32_t label;
};

// The pictures of a split; its classes have to be among those of the train split.
std::vector<LabelledFile> files_in(const fs::path& folder,
                                   const std::vector<std::string>& classes) {
  std::vector<LabelledFile> files;
  for (const std::string& name : names_in(folder, true)) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
      throw Error("load_dataset", folder.string() + ": class", "'" + name + "'",
                  "a class of the train split", ErrorKind::input);
    }
    const auto label = static_cast<std::int32_t>(found - classes.begin());
    for (const std::string& file : names_in(folder / name, false)) {
      if (is_picture_name(file)) files.push_back({folder / name / file, label});
    }
  }
  return files;
}

// Both splits have the same channels, so both are looked at until one picture has colours.
std::int64_t channels_of(const std::vector<LabelledFile>& files) {
  for (const LabelledFile& file : files) {
    const Shape shape =
        picture_shape(read_file_bytes(file.path, "read_picture"), file.path.string());
    if (shape[2] != 1) return 3;
  }
  return 1;
}

Tensor read_resized(const fs::path& path, std::int64_t image_size) {
  Tensor picture = read_picture(path);
  return image_size == 0 ? std::move(picture) : resize_picture(picture.view(), image_size);
}

std::string size_text(const Shape& shape) {
  return fmt::format("{}x{}", shape[0], shape[1]);
}

Tensor read_pictures(const std::vector<LabelledFile>& files, std::int64_t channels,
                     std::int64_t image_size) {
  const Shape first = read_resized(files.front().path, image_size).shape();
  Tensor images(DType::u8,
                Shape{static_cast<std::int64_t>(files.size()), first[0], first[1], channels});
  const auto bytes = static_cast<std::size_t>(first[0] * first[1] * channels);
  std::uint8_t* pixels = images.as<std::uint8_t>().data();
  // Of many errors the one of the first file is told, whatever the threads did.
  std::vector<std::optional<Error>> errors(files.size());
  parallel_for(files.size(), kPicturesAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      try {
        const Tensor picture = with_channels(read_resized(files[i].path, image_size), channels);
        const Shape& shape = picture.shape();
        if (shape[0] != first[0] || shape[1] != first[1]) {
          throw Error("load_dataset", files[i].path.string() + ": size", size_text(shape),
                      fmt::format("{} as {}; --image-size resizes", size_text(first),
                                  files.front().path.string()),
                      ErrorKind::input);
        }
        std::memcpy(pixels + i * bytes, picture.data(), picture.bytes());
      } catch (const Error& error) {
        errors[i] = error;
      }
    }
  });
  for (const std::optional<Error>& error : errors) {
    if (error) throw *error;
  }
  return images;
}

std::string name_of_folder(const fs::path& folder) {
  const fs::path clean = folder.lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).filename().string();
}

}  // namespace

bool is_picture_folder(const fs::path& folder) {
  const Sources sources = sources_of(folder);
  for (const std::string& name : names_in(sources.train, true)) {
    if (std::ranges::any_of(names_in(sources.train / name, false), is_picture_name)) return true;
  }
  return false;
}

bool has_picture_split(const fs::path& folder, Split split) {
  return split == Split::train || !sources_of(folder).test.empty();
}

bool has_unlabelled_pictures(const fs::path& folder) {
  return std::ranges::any_of(names_in(sources_of(folder).train, false), is_picture_name);
}

Dataset read_unlabelled_pictures(const fs::path& folder, std::int64_t image_size) {
  const fs::path source = sources_of(folder).train;
  std::vector<LabelledFile> files;
  for (const std::string& name : names_in(source, false)) {
    if (is_picture_name(name)) files.push_back({source / name, 0});
  }
  Dataset dataset;
  dataset.name = name_of_folder(folder);
  dataset.images = read_pictures(files, channels_of(files), image_size);
  return dataset;
}

Dataset read_picture_folder(const fs::path& folder, Split split, std::int64_t image_size) {
  const Sources sources = sources_of(folder);
  if (split == Split::test && sources.test.empty()) {
    throw Error("load_dataset", folder.string() + ": test split", "a folder without one",
                "folders train and test (or val)", ErrorKind::input);
  }
  Dataset dataset;
  dataset.name = name_of_folder(folder);
  dataset.class_names = names_in(sources.train, true);
  for (const std::string& each : dataset.class_names) {
    check_name("load_dataset", sources.train.string() + ": class", each);
  }
  if (std::cmp_greater(dataset.class_names.size(), kMostClasses)) {
    throw Error("load_dataset", folder.string() + ": classes",
                std::to_string(dataset.class_names.size()), fmt::format("1 to {}", kMostClasses),
                ErrorKind::limit);
  }
  const fs::path& wanted = split == Split::train ? sources.train : sources.test;
  const fs::path& other = split == Split::train ? sources.test : sources.train;
  const std::vector<LabelledFile> files = files_in(wanted, dataset.class_names);
  if (files.empty()) {
    throw Error("load_dataset", wanted.string() + ": pictures", "none",
                "CLASS/FILE.png, .jpg or .jpeg", ErrorKind::input);
  }
  std::int64_t channels = channels_of(files);
  if (channels == 1 && !other.empty()) channels = channels_of(files_in(other, dataset.class_names));
  dataset.images = read_pictures(files, channels, image_size);
  dataset.labels = Tensor(DType::i32, Shape{dataset.size()});
  std::ranges::transform(files, dataset.labels.as<std::int32_t>().begin(), &LabelledFile::label);
  return dataset;
}

}  // namespace nibble::inline data
