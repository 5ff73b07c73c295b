// SPDX-License-Identifier: Apache-2.0
// The names of IDX files.
#include "data/idx_files.h"

#include <system_error>

namespace nibble {

IdxFiles idx_files_of(std::string_view dataset, Split split) {
  if (dataset == "digits") return {.images = "images.idx3", .labels = "labels.idx1"};
  const std::string prefix = split == Split::train ? "train" : "t10k";
  return {.images = prefix + "-images-idx3-ubyte", .labels = prefix + "-labels-idx1-ubyte"};
}

std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder,
                                              const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    std::error_code ignored;
    const std::filesystem::path path = folder / (name + ending);
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

}  // namespace nibble
