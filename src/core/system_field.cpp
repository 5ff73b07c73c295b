// SPDX-License-Identifier: Apache-2.0
// Reads lines of a key and a value.
#include "core/system_field.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>

namespace nibble::inline core {
namespace {

std::string without_frame(std::string text) {
  const auto is_kept = [](char c) { return c != ' ' && c != '\t' && c != '"'; };
  text.erase(text.begin(), std::find_if(text.begin(), text.end(), is_kept));
  text.erase(std::find_if(text.rbegin(), text.rend(), is_kept).base(), text.end());
  return text;
}

}  // namespace

std::string system_field(const std::filesystem::path& path, std::string_view key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t split = line.find(separator);
    if (split != std::string::npos && without_frame(line.substr(0, split)) == key) {
      return without_frame(line.substr(split + 1));
    }
  }
  return "";
}

std::string processor_name() {
  for (const char* key : {"model name", "Model", "Hardware"}) {
    if (std::string name = system_field("/proc/cpuinfo", key, ':'); !name.empty()) return name;
  }
  utsname system = {};
  (void)::uname(&system);
  return system.machine[0] != '\0' ? system.machine : "unknown";
}

}  // namespace nibble::inline core
