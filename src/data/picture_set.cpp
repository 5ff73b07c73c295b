// SPDX-License-Identifier: Apache-2.0
// Finds out how pictures are kept and what they become.
#include "data/picture_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "data/listed_files.h"
#include "data/picture_folder.h"
#include "data/picture_source.h"
#include "data/resize_taps.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

std::string name_of_folder(const fs::path& folder) {
  const fs::path clean = folder.lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).filename().string();
}

std::optional<LabelledPictures> list_pictures(const fs::path& path, Split split,
                                              const LoadOptions& options) {
  std::error_code ignored;
  if (has_file_list(path)) return list_listed_pictures(path);
  if (has_picture_shards(path)) return list_picture_shards(path, split, !options.takes_unlabelled);
  if (!fs::is_directory(path, ignored)) return std::nullopt;
  if (is_picture_folder(path)) return list_class_folders(path, split);
  if (has_unlabelled_pictures(path)) return list_unlabelled(path);
  return std::nullopt;
}

// The other split, where it has a say in what pictures become.
std::optional<LabelledPictures> other_split(const fs::path& path, Split split,
                                            const LoadOptions& options) {
  std::error_code ignored;
  const Split other = split == Split::train ? Split::test : Split::train;
  const bool has_other =
      fs::is_directory(path, ignored) && !has_file_list(path) && !picture_splits(path).test.empty();
  return has_other ? list_pictures(path, other, options) : std::nullopt;
}

}  // namespace

// Both splits become the same, so where one does not decide it the other is looked at.
PictureForm form_of(const LabelledPictures& pictures, const fs::path& path, Split split,
                    const LoadOptions& options) {
  const auto either = [&](const auto& is_such) {
    if (is_such(pictures.list)) return true;
    const std::optional<LabelledPictures> other = other_split(path, split, options);
    return other && is_such(other->list);
  };
  const bool is_asked = options.input && options.input->rank() == 3 &&
                        ((*options.input)[2] == 1 || (*options.input)[2] == 3);
  PictureForm form;
  const std::int64_t channels =
      is_asked ? (*options.input)[2]
               : (either([](const PictureList& list) { return channels_of(list) == 3; }) ? 3 : 1);
  if (options.image_size < 0 || options.image_size > kMostResized) {
    throw Error("load_dataset", "image size", std::to_string(options.image_size),
                fmt::format("0 to {}", kMostResized));
  }
  if (options.image_size != 0) {
    form.law = PictureForm::Law::square;
    form.shape = Shape{options.image_size, options.image_size, channels};
    return form;
  }
  if (is_asked) {
    const std::int64_t height = (*options.input)[0];
    const std::int64_t width = (*options.input)[1];
    form.shape = Shape{height, width, channels};
    form.size_of = "the network takes it";
    // A list is MLPerf's, whose pictures are always brought into that form.
    if (has_file_list(path) ||
        either([&](const PictureList& list) { return !all_have_size(list, height, width); }))
      form.law = PictureForm::Law::middle;
    return form;
  }
  const Shape first = first_shape(pictures.list);
  form.shape = Shape{first[0], first[1], channels};
  form.size_of = pictures.list.name(0);
  return form;
}

std::optional<Dataset> find_picture_set(const fs::path& path, Split split,
                                        const LoadOptions& options) {
  std::optional<LabelledPictures> pictures = list_pictures(path, split, options);
  if (!pictures) return std::nullopt;
  if (pictures->class_names.empty() && !options.takes_unlabelled) {
    throw Error("load_dataset", path.string(), "pictures without classes",
                "CLASS/FILE.png: only what asks for no answers takes pictures without labels",
                ErrorKind::input);
  }
  const PictureForm form = form_of(*pictures, path, split, options);
  if (options.skips_broken) pictures->list = without_broken(std::move(pictures->list), form);
  Dataset dataset;
  dataset.name = name_of_folder(path);
  dataset.class_names = std::move(pictures->class_names);
  if (!dataset.class_names.empty()) {
    dataset.labels = Tensor(DType::i32, Shape{static_cast<std::int64_t>(pictures->list.size())});
    const auto labels = dataset.labels.as<std::int32_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = pictures->list.label(i);
  }
  const std::int64_t most = options.most_in_memory ? *options.most_in_memory : most_in_memory();
  dataset.images = read_pictures(std::move(pictures->list), form, most);
  return dataset;
}

std::int64_t most_in_memory(std::int64_t otherwise) {
  constexpr const char* kName = "NIBBLE_DATA_IN_MEMORY";
  const char* given = std::getenv(kName);
  if (given == nullptr || *given == '\0') return otherwise;
  const std::string_view text(given);
  std::int64_t bytes = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || bytes < 0)
    throw Error("load_dataset", kName, fmt::format("'{}'", text), "bytes, 0 or more");
  return bytes;
}

LabelledPictures list_picture_set(const fs::path& path, Split split, Classes classes) {
  std::error_code ignored;
  const bool has_both = fs::is_directory(path, ignored) && !picture_splits(path).test.empty();
  std::optional<LabelledPictures> pictures = list_pictures(
      path, has_both ? split : Split::train, {.takes_unlabelled = classes == Classes::optional});
  if (!pictures) {
    throw Error("load_dataset", path.string(), "no pictures",
                "CLASS/FILE.png or .jpg, .tar, or val_map.txt", ErrorKind::input);
  }
  return std::move(*pictures);
}

}  // namespace nibble::inline data
