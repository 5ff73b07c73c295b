// SPDX-License-Identifier: Apache-2.0
// Folders that verbs write into.
#include "apps/nibble/output_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "nibble/core/error.h"

namespace nibble {

void make_folder(std::string_view op, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && std::filesystem::is_directory(folder, error)) return;
  throw Error(op, fmt::format("cannot make folder {}: {}", folder.string(),
                              error ? error.message() : "a file is there"));
}

}  // namespace nibble
