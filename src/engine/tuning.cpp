// SPDX-License-Identifier: Apache-2.0
// Reads and writes what was found to be fast.
#include "nibble/engine/tuning.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "nibble/core/atomic_file.h"
#include "nibble/core/isa.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "# nibble tuning of ";
constexpr std::size_t kMostLines = 100'000;

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// "SHAPE: pixels 192, outputs 64"
bool take_line(const std::string& line, Tuning& tuning) {
  const std::size_t colon = line.rfind(": ");
  if (colon == std::string::npos) return false;
  ProductCut cut;
  std::string pixels, outputs;
  char comma = 0;
  std::istringstream words(line.substr(colon + 2));
  words >> pixels >> cut.pixels >> comma >> outputs >> cut.outputs;
  const bool is_width = cut.outputs >= 0 && cut.outputs <= 64 && cut.outputs % 16 == 0;
  if (!words || pixels != "pixels" || outputs != "outputs" || comma != ',' || cut.pixels < 0 ||
      cut.pixels > 65536 || !is_width) {
    return false;
  }
  tuning.cuts[line.substr(0, colon)] = cut;
  return true;
}

}  // namespace

std::string machine_name(int threads) {
  return fmt::format("{}, {}, {} threads", processor_name(), name_of(active_isa()), threads);
}

fs::path tuning_path(const std::string& machine) {
  if (const char* given = std::getenv("NIBBLE_TUNING"); given != nullptr && *given != 0)
    return given;
  const char* home = std::getenv("HOME");
  std::string name = machine;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return fs::path(home == nullptr ? "." : home) / ".cache" / "nibble" / ("tuning-" + name + ".txt");
}

Tuning read_tuning(const fs::path& path, const std::string& machine) {
  Tuning tuning{.machine = machine, .cuts = {}};
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != std::string(kFirstLine) + machine) return tuning;
  for (std::size_t i = 0; i < kMostLines && std::getline(file, line); ++i) {
    if (!take_line(line, tuning)) return {.machine = machine, .cuts = {}};
  }
  return tuning;
}

void write_tuning(const fs::path& path, const Tuning& tuning) {
  std::string text = fmt::format("{}{}\n", kFirstLine, tuning.machine);
  for (const auto& [shape, cut] : tuning.cuts) {
    text += fmt::format("{}: pixels {}, outputs {}\n", shape, cut.pixels, cut.outputs);
  }
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  AtomicFile file(path);
  file.stream() << text;
  file.commit();
}

}  // namespace nibble
