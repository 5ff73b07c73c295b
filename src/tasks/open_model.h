// SPDX-License-Identifier: Apache-2.0
// A model from wherever it is kept.
#pragma once

#include <filesystem>

#include "nibble/graph/model_file.h"

namespace nibble::inline tasks {

// The model file that a path stands for: of a run's folder the best model, else the last; any other
// path itself.
std::filesystem::path model_file_of(const std::filesystem::path& path);

// A .nib, an .onnx, the folder of a run or a layer directory.
ModelFile open_model(const std::filesystem::path& path);

// Whether all of its parameters are floats; otherwise it is one of integers.
bool is_float_model(const Model& model);

}  // namespace nibble::inline tasks
