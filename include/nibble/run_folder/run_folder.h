// SPDX-License-Identifier: Apache-2.0
// The folder of a run: settings, tables that grow by whole rows, checkpoint, models, summary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace nibble::inline run_folder {

struct EpochRow;
struct HistogramRow;
struct IntegerRow;
struct LayerRow;

enum class RunFolderMode : std::uint8_t {
  fresh,            // a folder that holds a run is refused
  overwrite,        // the files of an old run go once the new one has a checkpoint; others stay
  resume,           // a run must be there; without a checkpoint it starts from the beginning
  start_or_resume,  // whatever there is to do
};

bool holds_run(const std::filesystem::path& folder);
bool holds_checkpoint(const std::filesystem::path& folder);
std::filesystem::path checkpoint_in(const std::filesystem::path& folder);
std::filesystem::path best_model_in(const std::filesystem::path& folder);

class RunFolder {
 public:
  // Creates the folder where it is missing. While the object lives no other process can write a run
  // into the same folder.
  RunFolder(const std::filesystem::path& folder, RunFolderMode mode);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Where the files are written now: a folder inside, while an old run is kept.
  const std::filesystem::path& path() const { return path_; }
  bool is_resumed() const { return is_resumed_; }  // from a checkpoint
  bool keeps_old_run() const { return path_ != folder_; }
  // Once the new run has a checkpoint or has ended: it takes the place of the one that was kept.
  void replace_old_run();
  std::filesystem::path settings_path() const { return path_ / "settings.json"; }
  std::filesystem::path epochs_path() const { return path_ / "epochs.csv"; }
  std::filesystem::path layers_path() const { return path_ / "layers.csv"; }
  std::filesystem::path integers_path() const { return path_ / "integers.csv"; }
  std::filesystem::path histograms_path() const { return path_ / "histograms.csv"; }
  std::filesystem::path summary_path() const { return path_ / "summary.json"; }
  std::filesystem::path checkpoint_path() const { return checkpoint_in(path_); }
  std::filesystem::path model_path() const { return path_ / "model.nib"; }
  std::filesystem::path best_path() const { return best_model_in(path_); }

  // JSON text, checked and written at once or not at all.
  void write_settings(std::string_view json);
  void write_summary(std::string_view json);

  // After a checkpoint was loaded: rows of later epochs go, and the summary of the run that went
  // on. -1 cuts all rows.
  void resume_after(std::int64_t last_epoch);

  // The rows of one call are written together or not at all. The file appears with its first row.
  void add_epoch(const EpochRow& row);
  void add_layers(std::span<const LayerRow> rows);
  void add_integers(std::span<const IntegerRow> rows);
  void add_histograms(std::span<const HistogramRow> rows);

 private:
  void refuse_old_run(bool is_barely_begun) const;
  void close_tables();

  struct State;
  std::filesystem::path folder_;
  std::filesystem::path path_;
  bool is_resumed_ = false;
  std::unique_ptr<State> state_;
};

}  // namespace nibble::inline run_folder
