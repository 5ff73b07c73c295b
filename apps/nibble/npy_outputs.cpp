// SPDX-License-Identifier: Apache-2.0
// Several arrays written together.
#include "apps/nibble/npy_outputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "nibble/core/error.h"
#include "nibble/core/npy.h"

namespace nibble {

void NpyOutputs::add(const std::string& path, ConstTensorView array) {
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  const std::string target = path == "-" || resolved.empty() ? path : resolved.string();
  if (std::find(paths_.begin(), paths_.end(), target) != paths_.end()) {
    throw Error("write", "two arrays for one output", path, "a file for each");
  }
  paths_.push_back(target);
  if (path == "-") {
    to_standard_output_.push_back(array);
    return;
  }
  files_.push_back(std::make_unique<AtomicFile>(path));
  write_npy(files_.back()->stream(), array, path);
}

void NpyOutputs::commit() {
  for (const ConstTensorView& array : to_standard_output_) write_npy("-", array);
  for (const auto& file : files_) file->commit();
}

}  // namespace nibble
