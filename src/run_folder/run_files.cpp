// SPDX-License-Identifier: Apache-2.0
// A replacement in three names of one folder, each reached by a rename: being written; whole, so
// that all other files of a run are the old one's and go; moving, so that all others are new.
#include "run_folder/run_files.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>

#include "core/temporary.h"
#include "nibble/core/error.h"
#include "nibble/run_folder/run_folder.h"

namespace nibble::inline run_folder {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFilesOfARun{"settings.json",          "epochs.csv",   "layers.csv",
                                  "histograms.csv",         "model.nib",    "best.nib",
                                  "checkpoint.safetensors", "summary.json", "integers.csv"};
constexpr const char* kWritten = ".nibble-next";
constexpr const char* kWhole = ".nibble-next-whole";
constexpr const char* kMoving = ".nibble-next-moving";

bool has_entry(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_event_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("events.out.tfevents.") && name.ends_with(".nibble");
}

// A list first, because they may be removed or moved.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

void rename_entry(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_run_file("rename", from, error);
}

}  // namespace

void fail_run_file(const char* action, const fs::path& path, const std::error_code& code) {
  throw Error("run", fmt::format("cannot {} {}: {}", action, path.string(), code.message()),
              ErrorKind::system);
}

std::vector<fs::path> files_of_run(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* name : kFilesOfARun) {
    if (has_entry(folder / name)) files.push_back(folder / name);
  }
  for (const fs::path& path : entries_of(folder)) {
    if (is_event_file(path)) files.push_back(path);
  }
  return files;
}

void refuse_links(const fs::path& folder) {
  for (const char* name : kFilesOfARun) {
    std::error_code ignored;
    const fs::file_type type = fs::symlink_status(folder / name, ignored).type();
    if (type != fs::file_type::not_found && type != fs::file_type::regular)
      throw Error("run", (folder / name).string(),
                  type == fs::file_type::symlink ? "a link" : "no regular file",
                  "a file in the run's own folder", ErrorKind::input);
  }
}

void remove_run_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_run_file("remove", path, error);
}

bool is_barely_begun(const fs::path& folder) {
  return holds_run(folder) && !holds_checkpoint(folder) && !has_entry(folder / "model.nib") &&
         !has_entry(folder / "summary.json");
}

fs::path begin_replacement(const fs::path& folder) {
  fs::path written = folder / kWritten;
  std::error_code error;
  fs::create_directory(written, error);
  if (error) fail_run_file("create", written, error);
  return written;
}

void commit_replacement(const fs::path& folder) {
  rename_entry(folder / kWritten, folder / kWhole);
}

void finish_replacement(const fs::path& folder) {
  sync_folder(folder);
  if (has_entry(folder / kWhole)) {
    for (const fs::path& file : files_of_run(folder)) remove_run_file(file);
    sync_folder(folder);
    rename_entry(folder / kWhole, folder / kMoving);
    sync_folder(folder);
  }
  for (const fs::path& file : entries_of(folder / kMoving)) {
    rename_entry(file, folder / file.filename());
  }
  sync_folder(folder);
  remove_run_file(folder / kMoving);
}

void recover_replacement(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder / kWritten, ignored);
  if (has_entry(folder / kWhole) || has_entry(folder / kMoving)) finish_replacement(folder);
}

}  // namespace nibble::inline run_folder
