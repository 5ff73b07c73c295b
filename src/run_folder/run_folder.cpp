// SPDX-License-Identifier: Apache-2.0
// The folder of a run on disk.
#include "nibble/run_folder/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "core/temporary.h"
#include "core/text_file.h"
#include "nibble/core/error.h"
#include "run_folder/csv_log.h"
#include "run_folder/run_files.h"
#include "run_folder/run_rows.h"

namespace nibble::inline run_folder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEpochHeader =
    "epoch,step,learning_rate,train_loss,train_top1,val_loss,val_top1,test_loss,test_top1,seconds,"
    "images_per_second";
constexpr std::string_view kLayerHeader =
    "epoch,layer,role,format,elements,min,max,mean,deviation,sqnr_db,share_saturated,share_flushed";
constexpr std::string_view kIntegerHeader =
    "epoch,layer,tensor,shift,share_saturated,share_at_rails,share_moved,misses,batches";
constexpr std::string_view kHistogramHeader = "epoch,layer,role,low,high,counts";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void write_json(const fs::path& path, std::string_view json) {
  if (!nlohmann::json::accept(json)) {
    throw Error("run", path.string(), "text that is no JSON", "JSON");
  }
  std::string text(json);
  if (!json.ends_with('\n')) text += '\n';
  write_text_file(path, text);
}

std::string text_of(const EpochRow& row) {
  CsvRow cells;
  cells.add(row.epoch).add(row.step).add(row.learning_rate);
  for (const auto& value :
       {row.train_loss, row.train_top1, row.val_loss, row.val_top1, row.test_loss, row.test_top1}) {
    cells.add(value);
  }
  return cells.add(row.seconds).add(row.images_per_second).line();
}

std::string text_of(const LayerRow& row) {
  CsvRow cells;
  cells.add(row.epoch).add(row.layer).add(row.role).add(row.format).add(row.elements);
  for (const double value : {row.min, row.max, row.mean, row.deviation}) cells.add(value);
  return cells.add(row.sqnr_db).add(row.share_saturated).add(row.share_flushed).line();
}

std::string text_of(const IntegerRow& row) {
  CsvRow cells;
  cells.add(row.epoch).add(row.layer).add(row.tensor).add(row.shift);
  for (const auto& share : {row.share_saturated, row.share_at_rails, row.share_moved})
    cells.add(share);
  for (const auto& count : {row.misses, row.batches})
    cells.add(count ? std::to_string(*count) : "");
  return cells.line();
}

std::string text_of(const HistogramRow& row) {
  CsvRow cells;
  cells.add(row.epoch).add(row.layer).add(row.role).add(row.low).add(row.high);
  return cells.add(fmt::format("{}", fmt::join(row.counts, " "))).line();
}

template <class Row>
void add_rows(std::optional<CsvLog>& table, const fs::path& path, std::string_view header,
              std::span<const Row> rows) {
  if (rows.empty()) return;
  if (!table) table.emplace(path, header);
  std::string text;
  for (const Row& row : rows) text += text_of(row);
  table->append(text);
}

}  // namespace

struct RunFolder::State {
  explicit State(const fs::path& folder)
      : lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (lock < 0) fail_run_file("open", folder, {errno, std::generic_category()});
    // File systems without locks answer otherwise, and go without.
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(lock);
      throw Error("run", folder.string() + " is in use by another run that has not ended",
                  ErrorKind::system);
    }
  }
  ~State() { ::close(lock); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int lock;
  std::optional<CsvLog> epochs;
  std::optional<CsvLog> layers;
  std::optional<CsvLog> integers;
  std::optional<CsvLog> histograms;
};

bool holds_run(const fs::path& folder) {
  return !files_of_run(folder).empty();
}

fs::path checkpoint_in(const fs::path& folder) {
  return folder / "checkpoint.safetensors";
}

fs::path best_model_in(const fs::path& folder) {
  return folder / "best.nib";
}

bool holds_checkpoint(const fs::path& folder) {
  return is_there(checkpoint_in(folder));
}

RunFolder::RunFolder(const fs::path& folder, RunFolderMode mode) : folder_(folder), path_(folder) {
  const auto cannot_be_resumed = [&] {
    return Error("run", folder.string() + " cannot be resumed: it holds no checkpoint.safetensors",
                 ErrorKind::input);
  };
  if (mode == RunFolderMode::resume && !is_there(folder)) throw cannot_be_resumed();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_run_file("create", folder, error);
  if (!fs::is_directory(folder))
    fail_run_file("create", folder, {ENOTDIR, std::generic_category()});
  state_ = std::make_unique<State>(folder);
  recover_replacement(folder);
  const bool is_barely = is_barely_begun(folder);
  switch (mode) {
    case RunFolderMode::fresh:
      refuse_old_run(is_barely);
      return;
    case RunFolderMode::overwrite:
      sweep_temporaries(folder);
      if (!is_barely && holds_run(folder)) path_ = begin_replacement(folder);
      break;
    case RunFolderMode::resume:
    case RunFolderMode::start_or_resume:
      refuse_links(folder);
      sweep_temporaries(folder);
      is_resumed_ = holds_checkpoint(folder);
      const bool may_start =
          is_barely || (mode == RunFolderMode::start_or_resume && !holds_run(folder));
      if (!is_resumed_ && !may_start) throw cannot_be_resumed();
      break;
  }
  if (is_barely) {
    for (const fs::path& file : files_of_run(folder)) remove_run_file(file);
  }
}

RunFolder::~RunFolder() {
  try {  // once more, where a failure has come between
    recover_replacement(folder_);
  } catch (const Error&) {  // then by the next that uses the folder
  }
}

void RunFolder::refuse_old_run(bool is_barely_begun) const {
  const std::vector<fs::path> old = files_of_run(folder_);
  if (old.empty()) return;
  throw Error("run", fmt::format("{} already holds a run ({}): {}, --overwrite it or name another "
                                 "folder",
                                 folder_.string(), old.front().filename().string(),
                                 is_barely_begun ? "--continue starts it again, for it has no "
                                                   "checkpoint yet"
                                                 : "--resume it"));
}

void RunFolder::replace_old_run() {
  if (!keeps_old_run()) return;
  close_tables();
  commit_replacement(folder_);
  path_ = folder_;
  finish_replacement(folder_);
}

void RunFolder::close_tables() {
  state_->epochs.reset();
  state_->layers.reset();
  state_->integers.reset();
  state_->histograms.reset();
}

void RunFolder::write_settings(std::string_view json) {
  write_json(settings_path(), json);
}

void RunFolder::write_summary(std::string_view json) {
  write_json(summary_path(), json);
}

void RunFolder::resume_after(std::int64_t last_epoch) {
  close_tables();
  for (const fs::path& table : {epochs_path(), layers_path(), integers_path(), histograms_path()}) {
    cut_after_epoch(table, last_epoch);
  }
  remove_run_file(summary_path());
}

void RunFolder::add_epoch(const EpochRow& row) {
  if (!state_->epochs) state_->epochs.emplace(epochs_path(), kEpochHeader);
  state_->epochs->append(text_of(row));
}

void RunFolder::add_layers(std::span<const LayerRow> rows) {
  add_rows(state_->layers, layers_path(), kLayerHeader, rows);
}

void RunFolder::add_integers(std::span<const IntegerRow> rows) {
  add_rows(state_->integers, integers_path(), kIntegerHeader, rows);
}

void RunFolder::add_histograms(std::span<const HistogramRow> rows) {
  add_rows(state_->histograms, histograms_path(), kHistogramHeader, rows);
}

}  // namespace nibble::inline run_folder
