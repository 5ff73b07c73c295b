// SPDX-License-Identifier: Apache-2.0
// Reads the files of a layer directory, none outside of it.
#include "foreign/layer_directory/layer_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <system_error>

#include "core/text_file.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"
#include "nibble/foreign/layer_directory.h"

static_assert(std::endian::native == std::endian::little, "data files are little-endian");

namespace nibble::inline foreign {
namespace {

namespace fs = std::filesystem;

DType dtype_of(StoredType type) {
  switch (type) {
    case StoredType::s4:
      return DType::u8;
    case StoredType::s8:
      return DType::i8;
    case StoredType::s16:
      return DType::i16;
    case StoredType::u16:
      return DType::u16;
    case StoredType::s32:
      return DType::i32;
    case StoredType::f32:
      return DType::f32;
  }
  return DType::u8;
}

// Of the tensor that read_tensor gives.
Shape shape_of_stored(const StoredTensor& tensor) {
  const Shape shape{std::span<const std::int64_t>(tensor.extents)};
  return tensor.type == StoredType::s4 ? Shape{(shape.elements() + 1) / 2} : shape;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

bool is_layer_directory(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "model", ignored);
}

LayerFolder::LayerFolder(const fs::path& path) : path_(path) {
  std::error_code error;
  root_ = fs::canonical(path, error);
  if (error) {
    throw Error("layer_directory",
                fmt::format("cannot read {}: {}", path.string(), error.message()),
                ErrorKind::system);
  }
  if (is_layer_directory(path)) return;
  if (is_layer_directory(path / "model")) {
    throw Error("layer_directory", path.string(), "the folder around a layer directory",
                (path / "model").string(), ErrorKind::input);
  }
  throw Error("layer_directory", path.string(), "no file 'model' in it", "a layer directory",
              ErrorKind::input);
}

bool LayerFolder::has(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(path_ / name, ignored);
}

LayerFile LayerFolder::read(const std::string& name) const {
  const fs::path path = path_ / name;
  LayerFile file;
  file.record = parse_record(read_text_file(path, "layer_directory"), path.string());
  file.layer = parse_layer(file.record);
  return file;
}

// The first folder of a written path is the one that was called model once; without it also the
// rest may be given.
fs::path LayerFolder::data_path(const LayerRecord& record, std::string_view key,
                                const std::string& written) const {
  const fs::path path(written);
  const bool is_plain = path.is_relative() && std::all_of(path.begin(), path.end(), [](auto& part) {
                          return !part.empty() && part != "." && part != "..";
                        });
  if (!is_plain) record.fail_path(key, in_quotes(written), "a path inside the layer directory");
  fs::path rest;
  for (auto part = std::next(path.begin()); part != path.end(); ++part) rest /= *part;
  std::error_code error;
  for (const fs::path& each : {rest, path}) {
    if (each.empty() || !fs::exists(path_ / each, error)) continue;
    fs::path found = fs::canonical(path_ / each, error);
    if (error || !is_within(found, root_)) {
      record.fail_path(key, in_quotes(written) + ", which leads out of it",
                       "a file inside the layer directory");
    }
    if (!fs::is_regular_file(found, error)) {
      record.fail_path(key, in_quotes(written) + ", which is no regular file", "a file");
    }
    return found;
  }
  record.fail_path(key, in_quotes(written) + ", which does not exist", "a file");
}

Tensor LayerFolder::read_tensor(const LayerRecord& record, std::string_view key,
                                const StoredTensor& tensor) {
  const fs::path path = data_path(record, key, tensor.path);
  if (!used_.insert(path).second) {
    record.fail_path(key, in_quotes(tensor.path) + ", which another tensor has", "its own file");
  }
  const Shape shape = shape_of_stored(tensor);
  const auto expected =
      static_cast<std::uintmax_t>(shape.elements()) * size_of(dtype_of(tensor.type));
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size != expected) {
    record.fail_path(key, error ? error.message() : fmt::format("{} bytes", size),
                     fmt::format("{} bytes", expected));
  }
  Tensor result(dtype_of(tensor.type), shape);
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(result.data()), static_cast<std::streamsize>(expected));
  if (!in) record.fail_path(key, "a file that cannot be read", fmt::format("{} bytes", expected));
  return result;
}

}  // namespace nibble::inline foreign
