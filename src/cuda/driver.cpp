// SPDX-License-Identifier: Apache-2.0
// The driver's own files: "NVRM version: … Kernel Module  550.54.15  …", and a folder for each GPU.
#include "cuda/driver.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/system_field.h"

namespace nibble::cuda {
namespace {

namespace fs = std::filesystem;

bool is_version(const std::string& word) {
  return word.find('.') != std::string::npos && std::ranges::all_of(word, [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.';
         });
}

// The first word of digits and dots.
std::string version_in(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (is_version(word)) return word;
  }
  return "";
}

}  // namespace

Driver loaded_driver(const fs::path& folder) {
  Driver driver{.version = version_in(folder / "version"), .gpus = {}};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "gpus", error)) {
    const fs::path information = entry.path() / "information";
    if (std::string model = system_field(information, "Model", ':'); !model.empty())
      driver.gpus.push_back(std::move(model));
  }
  std::ranges::sort(driver.gpus);
  return driver;
}

}  // namespace nibble::cuda
