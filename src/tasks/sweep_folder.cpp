// SPDX-License-Identifier: Apache-2.0
// The folder of a sweep, and whether its data serves all runs.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/hash.h"
#include "core/text_file.h"
#include "epoch_loop/training_data.h"
#include "nibble/core/error.h"
#include "report/html_report.h"
#include "tasks/json.h"
#include "tasks/sweep_plan.h"

namespace nibble::inline tasks {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && fs::is_directory(folder, error)) return;
  throw Error("sweep",
              fmt::format("cannot make folder {}: {}", folder.string(),
                          error ? error.message() : "a file is there"),
              ErrorKind::system);
}

// What trains. Rows are compared by their accuracy, which a regression has not.
Dataset checked_data(const RunSettings& settings) {
  Dataset data = load_dataset(settings.data, Split::train,
                              {.image_size = settings.image_size,
                               .input = input_of(settings.network).shape,
                               .skips_broken = settings.skips_broken});
  check_data(settings.network, data);
  if (!data.has_targets()) return data;
  throw Error("sweep", "data", "targets of a regression", "labels of classes");
}

}  // namespace

void check_data_of(SweepPlan& plan) {
  for (PlannedRun& run : plan.runs) {
    const RunSettings& settings = settings_of(run.recipe);
    RunSettings& base = settings_of(plan.base);
    const bool is_known = !base.data_hash.empty() && settings.data == base.data &&
                          settings.image_size == base.image_size;
    if (!is_known) base.data_hash = hex(hash_of(checked_data(settings)));
    if (settings.validation == 0 && !has_split(settings.data, Split::test)) {
      throw Error("sweep", "data", "none to test with",
                  "x_test and y_test, a set with a test split, or a validation split");
    }
  }
}

void claim_folder(const SweepFlags& flags, const SweepPlan& plan) {
  Json json = Json::parse(json_of(plan.base));
  if (!flags.formats.empty()) json["roles"] = flags.roles;
  if (!flags.twin.empty()) json["twin"] = flags.twin;
  json.erase("seed");
  const fs::path path = fs::path(flags.out) / "sweep.json";
  make_folder(flags.out);
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    std::ifstream in(path);
    const Json old = Json::parse(in, nullptr, false);
    if (old.is_object() && !old.contains("data_hash")) json.erase("data_hash");  // older versions
    if (old != json) {
      throw Error("sweep",
                  fmt::format("{} holds a sweep with other settings; --out names another folder",
                              flags.out));
    }
    return;
  }
  write_text_file(path, json.dump(2) + "\n");
}

fs::path folder_of(const SweepPlan& plan, const fs::path& sweep, std::size_t row, std::size_t n) {
  return sweep / fmt::format("{}-seed{}", plan.runs[row].folder, settings_of(plan.base).seed + n);
}

void write_results(const fs::path& sweep, const SweepPlan& plan) {
  const RunSettings& base = settings_of(plan.base);
  write_table(sweep, plan.table, fmt::format("{} on {}", base.network.name, base.data));
  std::vector<RunRecord> runs;
  for (std::size_t row = 0; row < plan.runs.size(); ++row) {
    for (std::size_t n = 0; n < plan.table.rows[row].top1.size(); ++n)
      runs.push_back(read_run(folder_of(plan, sweep, row, n)));
  }
  write_report(sweep / "report.html", runs);
}

}  // namespace nibble::inline tasks
