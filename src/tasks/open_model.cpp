// SPDX-License-Identifier: Apache-2.0
// A model from wherever it is kept.
#include "tasks/open_model.h"

#include <algorithm>
#include <system_error>

#include "nibble/foreign/layer_directory.h"
#include "nibble/foreign/onnx.h"

namespace nibble::inline tasks {

std::filesystem::path model_file_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) || is_layer_directory(path)) return path;
  for (const char* name : {"best.nib", "model.nib"}) {
    if (std::filesystem::exists(path / name, ignored)) return path / name;
  }
  return path;
}

ModelFile open_model(const std::filesystem::path& path) {
  const std::filesystem::path file = model_file_of(path);
  if (file.extension() == ".onnx") return {.model = read_onnx(file), .origin = {}};
  if (is_layer_directory(file)) return {.model = read_layer_directory(file), .origin = {}};
  return read_model(file);
}

bool is_float_model(const Model& model) {
  return std::ranges::all_of(model.parameters,
                             [](const Tensor& each) { return each.dtype() == DType::f32; });
}

}  // namespace nibble::inline tasks
