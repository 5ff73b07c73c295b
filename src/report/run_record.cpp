// SPDX-License-Identifier: Apache-2.0
// Reads a run folder.
#include "report/run_record.h"

#include <algorithm>
#include <system_error>

#include "core/text_file.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline report {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> content_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  return read_text_file(path, "report", limits().memory);
}

std::string name_of_folder(const fs::path& folder) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(folder, ignored);
  const std::string name = (whole.empty() ? folder : whole).filename().string();
  return name.empty() ? folder.string() : name;
}

}  // namespace

std::string RunRecord::setting(const std::string& key) const {
  const auto found = std::ranges::find(settings, key, &std::pair<std::string, std::string>::first);
  return found == settings.end() ? "" : found->second;
}

RunRecord read_run(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw Error("report", folder.string(), fs::exists(folder, ignored) ? "a file" : "nothing there",
                "a run folder", ErrorKind::input);
  }
  RunRecord run = {.path = folder, .name = name_of_folder(folder)};
  const std::optional<std::string> settings = content_of(folder / "settings.json");
  if (!settings) {
    throw Error("report", folder.string(), "no settings.json", "a folder that nibble train wrote",
                ErrorKind::input);
  }
  read_settings(folder / "settings.json", *settings, run);
  const auto table = [&](const char* name, auto read, auto& records) {
    const fs::path path = folder / name;
    if (const std::optional<std::string> text = content_of(path)) {
      records = read(path, *text);
    }
  };
  table("epochs.csv", read_epochs, run.epochs);
  table("layers.csv", read_layers, run.layers);
  table("integers.csv", read_integers, run.integers);
  table("histograms.csv", read_histograms, run.histograms);
  const fs::path summary = folder / "summary.json";
  if (const std::optional<std::string> text = content_of(summary)) {
    run.summary = read_summary(summary, *text);
  }
  return run;
}

}  // namespace nibble::inline report
