// SPDX-License-Identifier: Apache-2.0
// The driver's own files: "NVRM version: … Kernel Module  550.54.15  …", and a folder for each GPU.
#include "cuda/driver.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/device_name.h"
#include "core/system_field.h"
#include "nibble/core/error.h"
#include "nibble/cuda/device.h"

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

std::string forced_settings() {
  std::string text;
  for (const char* variable : {"NIBBLE_CUDA", "NIBBLE_CUDA_WIRE", "NIBBLE_CUDA_LIMITS"}) {
    if (const char* value = std::getenv(variable))
      text.append(" (").append(variable).append("=").append(value).append(")");
  }
  return text;
}

std::string hardware_of(int device) {
  return identity_of(device) + " of " + std::to_string(multiprocessors(device)) +
         " multiprocessors" + forced_settings();
}

int usable_device(std::string_view name) {
  const int device = parse_device(name).index;
  const int count = device_count();
  if (count == 0) {
    const bool has_driver = !loaded_driver().version.empty();
    throw Error("device", name,
                has_driver ? "no usable GPU: " + why_no_device() : "no NVIDIA driver here",
                "a machine with a GPU, or cpu", ErrorKind::device);
  }
  if (device >= count)
    throw Error("device", name, std::to_string(count) + (count == 1 ? " GPU" : " GPUs"),
                "a number below " + std::to_string(count) + ", or cpu", ErrorKind::device);
  if (!has_kernels(device))
    throw Error("device", name, "a build without kernels for this GPU",
                "one with -D CMAKE_CUDA_ARCHITECTURES=native, made on it", ErrorKind::device);
  return device;
}

}  // namespace nibble::cuda
