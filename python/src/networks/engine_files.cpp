// SPDX-License-Identifier: Apache-2.0
// Files as examples of an engine, as `nibble run` reads them.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/picture_set.h"
#include "data/picture_source.h"
#include "nibble/core/parallel.h"
#include "python/src/networks/bind.h"
#include "python/src/networks/engine_arrays.h"
#include "python/src/new_arrays.h"

namespace nibble::python {
namespace {

namespace fs = std::filesystem;

// The integers of one file, or of the pictures of a folder or an archive, and how they are called.
struct FileExamples {
  std::vector<std::string> names;
  std::vector<std::byte> integers;
};

FileExamples examples_of_set(const fs::path& path, const ExampleReader& reader, bool skips_broken) {
  PictureList list = list_picture_set(path, Split::test).list;
  const PictureForm form{.law = PictureForm::Law::middle, .shape = reader.info().shape};
  if (skips_broken) list = without_broken(std::move(list), form);
  FileExamples found;
  found.integers.resize(list.size() * reader.info().bytes);
  for (std::size_t i = 0; i < list.size(); ++i) found.names.push_back(list.name(i));
  parallel_tasks(list.size(), [&](std::size_t i) {
    reader.read_picture(list.bytes(i), found.names[i],
                        found.integers.data() + i * reader.info().bytes);
  });
  return found;
}

FileExamples examples_of_file(const fs::path& path, const ExampleReader& reader) {
  FileExamples found;
  const std::int64_t count = reader.read(path, found.integers);
  const std::string name = path.string();
  for (std::int64_t k = 0; k < count; ++k)
    found.names.push_back(count == 1 ? name : name + "[" + std::to_string(k) + "]");
  return found;
}

std::vector<FileExamples> read_all(const std::vector<fs::path>& paths, const ExampleReader& reader,
                                   bool skips_broken) {
  std::vector<FileExamples> found(paths.size());
  std::vector<std::size_t> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::error_code ignored;
    if (fs::is_directory(paths[i], ignored) || paths[i].extension() == ".tar") {
      found[i] = examples_of_set(paths[i], reader, skips_broken);
    } else {
      files.push_back(i);
    }
  }
  parallel_tasks(files.size(), [&](std::size_t i) {
    found[files[i]] = examples_of_file(paths[files[i]], reader);
  });
  return found;
}

// As they enter the engine; integers of which some leave their bytes for a zero point are int32.
Tensor tensor_of(const std::vector<FileExamples>& found, const ValueInfo& info) {
  std::vector<std::byte> integers;
  for (const FileExamples& each : found)
    integers.insert(integers.end(), each.integers.begin(), each.integers.end());
  std::vector<std::int64_t> extents{static_cast<std::int64_t>(integers.size() / info.bytes)};
  extents.insert(extents.end(), info.shape.extents().begin(), info.shape.extents().end());
  Tensor tensor(info.zero == 0 ? info.dtype : DType::i32, Shape(extents));
  if (info.zero == 0) {
    if (!integers.empty()) std::memcpy(tensor.data(), integers.data(), integers.size());
  } else {
    std::ranges::transform(as_integers(info, integers), tensor.as<std::int32_t>().begin(),
                           [](std::int64_t each) { return static_cast<std::int32_t>(each); });
  }
  return tensor;
}

nb::tuple read(const EngineObject& self, const std::vector<fs::path>& paths, bool skips_broken) {
  std::vector<FileExamples> found;
  Tensor tensor;
  {
    const nb::gil_scoped_release others_may_run;
    found = read_all(paths, self.reader, skips_broken);
    tensor = tensor_of(found, self.input());
  }
  nb::list names;
  for (const FileExamples& each : found) {
    for (const std::string& name : each.names) {
      names.append(nb::steal(
          PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size()))));
    }
  }
  return nb::make_tuple(names, to_python(std::move(tensor), Array::Kind::numpy));
}

}  // namespace

void bind_engine_files(nb::class_<EngineObject>& engine) {
  engine.def("read_files", read, nb::arg("paths"), nb::arg("skip_broken"),
             nb::sig("def read_files(self, paths: list[str], skip_broken: bool) -> "
                     "tuple[list[str], typing.Any]"),
             "What read gives.");
}

}  // namespace nibble::python
