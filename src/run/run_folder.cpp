// SPDX-License-Identifier: Apache-2.0
// The folder of a run on disk.
#include "nibble/run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "nibble/core/atomic_file.h"
#include "nibble/core/error.h"
#include "nibble/run/csv_log.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFilesOfARun{"settings.json",          "epochs.csv",   "layers.csv",
                                  "histograms.csv",         "model.nib",    "best.nib",
                                  "checkpoint.safetensors", "summary.json", "integers.csv"};

constexpr std::string_view kEpochHeader =
    "epoch,step,learning_rate,train_loss,train_top1,val_loss,val_top1,test_loss,test_top1,seconds,"
    "images_per_second";
constexpr std::string_view kLayerHeader =
    "epoch,layer,role,format,elements,min,max,mean,deviation,sqnr_db,share_saturated,share_flushed";
constexpr std::string_view kIntegerHeader =
    "epoch,layer,tensor,shift,share_saturated,share_at_rails,share_moved,misses,batches";
constexpr std::string_view kHistogramHeader = "epoch,layer,role,low,high,counts";

[[noreturn]] void fail(const std::string& action, const fs::path& path,
                       const std::error_code& code) {
  throw Error("run", fmt::format("cannot {} {}: {}", action, path.string(), code.message()));
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_event_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("events.out.tfevents.") && name.ends_with(".nibble");
}

// The files of a run that are in the folder; a list first, because they may be removed.
std::vector<fs::path> files_of_run(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* name : kFilesOfARun) {
    if (is_there(folder / name)) files.push_back(folder / name);
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_event_file(entry->path())) files.push_back(entry->path());
  }
  return files;
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail("remove", path, error);
}

// What a run that was killed in the middle of a write left behind; nobody else writes here now.
void remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(".nibble-") && name.ends_with(".tmp")) leftovers.push_back(entry->path());
  }
  for (const fs::path& file : leftovers) remove_file(file);
}

void write_json(const fs::path& path, std::string_view json) {
  if (!nlohmann::json::accept(json)) {
    throw Error("run", path.string(), "text that is no JSON", "JSON");
  }
  AtomicFile file(path);
  file.stream() << json;
  if (!json.ends_with('\n')) file.stream() << '\n';
  file.commit();
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
    if (lock < 0) fail("open", folder, {errno, std::generic_category()});
    // File systems without locks answer otherwise, and go without.
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(lock);
      throw Error("run", folder.string() + " is in use by another run that has not ended");
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

bool holds_checkpoint(const fs::path& folder) {
  return is_there(checkpoint_in(folder));
}

RunFolder::RunFolder(const fs::path& folder, RunFolderMode mode) : path_(folder) {
  if (mode == RunFolderMode::resume && !holds_checkpoint(folder)) {
    throw Error("run", folder.string() + " cannot be resumed: it holds no checkpoint.safetensors");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("create", folder, error);
  if (!fs::is_directory(folder)) fail("create", folder, {ENOTDIR, std::generic_category()});
  state_ = std::make_unique<State>(folder);
  const std::vector<fs::path> old = files_of_run(folder);
  if (mode == RunFolderMode::fresh && !old.empty()) {
    throw Error("run",
                fmt::format("{} already holds a run ({}): --resume it, --overwrite it or name "
                            "another folder",
                            folder.string(), old.front().filename().string()));
  }
  if (mode == RunFolderMode::overwrite) {
    for (const fs::path& file : old) remove_file(file);
  }
  if (mode != RunFolderMode::fresh) remove_leftovers(folder);
}

RunFolder::~RunFolder() = default;

void RunFolder::write_settings(std::string_view json) {
  write_json(settings_path(), json);
}

void RunFolder::write_summary(std::string_view json) {
  write_json(summary_path(), json);
}

void RunFolder::resume_after(std::int64_t last_epoch) {
  state_->epochs.reset();
  state_->layers.reset();
  state_->integers.reset();
  state_->histograms.reset();
  for (const fs::path& table : {epochs_path(), layers_path(), integers_path(), histograms_path()}) {
    cut_after_epoch(table, last_epoch);
  }
  remove_file(summary_path());
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

}  // namespace nibble
