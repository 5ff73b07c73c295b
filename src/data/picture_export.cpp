// SPDX-License-Identifier: Apache-2.0
// Writes pictures by all threads.
#include "data/picture_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string_view>
#include <vector>

#include "data/picture_codecs.h"
#include "nibble/core/error.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExport = "data export";

std::size_t digits_of(std::size_t count) {
  return std::to_string(std::max<std::size_t>(count, 1) - 1).size();
}

// Readers number classes in the order of these names.
std::vector<std::string> folders_of(const std::vector<std::string>& classes) {
  const auto is_no_folder = [](const std::string& name) {
    return name.empty() || name.starts_with('.') || name.find('/') != std::string::npos;
  };
  if (std::ranges::is_sorted(classes) && std::ranges::none_of(classes, is_no_folder))
    return classes;
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < classes.size(); ++i)
    numbers.push_back(fmt::format("{:0{}}", i, digits_of(classes.size())));
  return numbers;
}

void check_pictures(const Dataset& dataset) {
  const Shape& shape = dataset.images.shape();
  if (dataset.has_targets() || !dataset.has_answers())
    throw Error(kExport, dataset.name, "data without classes", "pictures with classes",
                ErrorKind::input);
  if (dataset.images.dtype() != DType::u8 || (shape[3] != 1 && shape[3] != 3))
    throw Error(kExport, dataset.name,
                fmt::format("{} {}", name_of(dataset.images.dtype()), shape.to_string()),
                "pictures of bytes, grey or in colours", ErrorKind::input);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error(kExport, "cannot write " + path.string(), ErrorKind::system);
}

std::int64_t export_split(const Dataset& dataset, const fs::path& folder) {
  check_pictures(dataset);
  const std::vector<std::string> folders = folders_of(dataset.class_names);
  // One of a class without pictures as well: its number counts.
  for (const std::string& each : folders) fs::create_directories(folder / each);
  const auto labels = dataset.labels.as<std::int32_t>();
  const Shape& shape = dataset.images.shape();
  std::vector<std::int32_t> all(labels.size());
  std::iota(all.begin(), all.end(), 0);
  dataset.images.for_each(all, [&](std::size_t i, const std::uint8_t* pixels) {
    const std::string name = fmt::format("{:0{}}.png", i, digits_of(labels.size()));
    write_file(folder / folders[static_cast<std::size_t>(labels[i])] / name,
               encode_png(pixels, Shape{shape[1], shape[2], shape[3]}));
  });
  return dataset.size();
}

}  // namespace

ExportedPictures export_pictures(const std::string& data, const fs::path& out) {
  if (fs::exists(out)) throw Error(kExport, out.string(), "what is there already", "a new folder");
  const fs::path part = out.string() + ".part";
  fs::remove_all(part);
  ExportedPictures exported{.train =
                                export_split(load_dataset(data, Split::train), part / "train")};
  if (has_split(data, Split::test))
    exported.test = export_split(load_dataset(data, Split::test), part / "test");
  fs::rename(part, out);
  return exported;
}

}  // namespace nibble::inline data
