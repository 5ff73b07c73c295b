// SPDX-License-Identifier: Apache-2.0
// Reads and writes what was found to be fast.
#include "nibble/engine/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "core/isa.h"
#include "core/name.h"
#include "core/system_field.h"
#include "core/text_file.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTuningVariable = "NIBBLE_TUNING";
constexpr std::string_view kTuningHead = "# nibble tuning of ";
constexpr std::array<std::int64_t, 7> kWidths = {0, 16, 32, 48, 64, 128, 256};
constexpr double kSureShare = 0.7;  // of turns that gain

// The value of a variable; null: it is not there, or empty.
const char* tuning_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
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
  const bool is_width = std::ranges::find(kWidths, cut.outputs) != kWidths.end();
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
  if (const char* given = tuning_variable(kTuningVariable)) return given;
  const char* home = tuning_variable("HOME");
  std::string name = machine;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return fs::path(home == nullptr ? "." : home) / ".cache" / "nibble" / ("tuning-" + name + ".txt");
}

Tuning parse_tuning(std::string_view text, const std::string& name) {
  Tuning tuning;
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || !line.starts_with(kTuningHead))
    throw Error("tuning", name + ": first line", in_quotes(line),
                std::string(kTuningHead) + "MACHINE", ErrorKind::input);
  tuning.machine = line.substr(kTuningHead.size());
  for (int number = 2; std::getline(lines, line); ++number) {
    if (!take_line(line, tuning))
      throw Error("tuning", fmt::format("{}:{}", name, number), in_quotes(line),
                  "SHAPE: pixels 0 to 65536, outputs 0, 16, 32, 48, 64, 128 or 256",
                  ErrorKind::input);
  }
  return tuning;
}

std::string to_text(const Tuning& tuning) {
  std::string text = fmt::format("{}{}\n", kTuningHead, tuning.machine);
  for (const auto& [shape, cut] : tuning.cuts) {
    text += fmt::format("{}: pixels {}, outputs {}\n", shape, cut.pixels, cut.outputs);
  }
  return text;
}

void write_tuning(const fs::path& path, const Tuning& tuning) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  write_text_file(path, to_text(tuning));
}

std::string TuningFile::to_string() const {
  switch (state) {
    case State::absent:
      return "none";
    case State::of_another_machine:
      return fmt::format("none ({} is of another machine)", path.string());
    case State::active:
      return path.string();
    case State::given:
      return "given by the program";
  }
  return "";
}

TuningFile tuning_of(const std::string& machine, const Tuning* given) {
  if (given == nullptr) return find_tuning(machine);
  TuningFile file{.state = TuningFile::State::given, .path = {}, .tuning = *given};
  file.tuning.machine = machine;
  return file;
}

TuningFile find_tuning(const std::string& machine) {
  TuningFile file{.path = tuning_path(machine), .tuning = {.machine = machine, .cuts = {}}};
  std::error_code error;
  if (!fs::exists(file.path, error) && tuning_variable(kTuningVariable) == nullptr) return file;
  const std::string op = tuning_variable(kTuningVariable) != nullptr ? kTuningVariable : "tuning";
  Tuning read = parse_tuning(read_text_file(file.path, op), file.path.string());
  if (read.machine != machine) {
    file.state = TuningFile::State::of_another_machine;
  } else {
    file.state = TuningFile::State::active;
    file.tuning = std::move(read);
  }
  return file;
}

bool shows_gain(std::span<const double> usual, std::span<const double> tuned) {
  if (usual.size() != tuned.size() || usual.empty())
    throw Error("tuning", "turns", fmt::format("{} and {}", usual.size(), tuned.size()),
                "as many of both");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < usual.size(); ++i) ratios.push_back(tuned[i] / usual[i]);
  std::ranges::sort(ratios);
  const auto gains = static_cast<double>(std::ranges::lower_bound(ratios, 1.0) - ratios.begin());
  return ratios[ratios.size() / 2] <= 1 - kWorthwhileGain &&
         gains >= kSureShare * static_cast<double>(ratios.size());
}

}  // namespace nibble::inline engine
