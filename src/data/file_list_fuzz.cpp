// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text is a list of files with labels or throws Error; names stay in their folder.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/test_fuzz_target.h"
#include "data/listed_files.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(file_list) {
  using namespace nibble;
  std::vector<FileLine> lines;
  try {
    lines = parse_file_list({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  std::string text;
  for (const FileLine& line : lines) {
    if (line.name.empty() || line.label < 0) std::abort();
    text += line.name + " " + std::to_string(line.label) + "\n";
  }
  const std::vector<FileLine> copy = parse_file_list(text, "copy");
  if (copy.size() != lines.size()) std::abort();
  for (std::size_t i = 0; i < copy.size(); ++i) {
    if (copy[i].name != lines[i].name || copy[i].label != lines[i].label) std::abort();
  }
  return 0;
}
