// SPDX-License-Identifier: Apache-2.0
// A new folder gets its name by one rename. Into one that is there the files move one by one, and
// back again where one of them cannot.
#include "core/whole_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

class NewFile {
 public:
  explicit NewFile(const fs::path& path)
      : path_(path),
        descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail_write("create", path, errno);
  }
  ~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail_write("write", path_, errno);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void close() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_write("close", path_, errno);
  }

 private:
  fs::path path_;
  int descriptor_;
};

void make_folders(const fs::path& folder) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) fail_write("create", folder, error.value());
}

// The missing folder nearest to the root; empty: all are there.
fs::path first_missing(const fs::path& folder) {
  fs::path missing;
  std::error_code ignored;
  for (fs::path each = folder; !each.empty() && !fs::exists(each, ignored);
       each = each.parent_path()) {
    missing = each;
  }
  return missing;
}

// One call for hundreds of small files, where each file's own would take seconds.
void sync_all_of(int descriptor, const fs::path& folder) {
  if (::syncfs(descriptor) != 0) fail_write("sync", folder, errno);
}

// A file that moves to its place; what was there is kept until all have moved.
struct Move {
  fs::path from;
  fs::path to;
  fs::path old;  // empty: nothing was there, or it cannot be kept
};

std::vector<Move> moves_of(const fs::path& from, const fs::path& to) {
  std::vector<Move> moves;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_directory()) continue;
    const fs::path place = to / entry.path().lexically_relative(from);
    if (fs::is_directory(place, ignored)) fail_write("replace", place, EISDIR);
    moves.push_back({entry.path(), place, {}});
  }
  return moves;
}

void move_back(const std::vector<Move>& moves, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) {
    if (moves[i].old.empty()) {
      ::unlink(moves[i].to.c_str());
    } else {
      (void)::rename(moves[i].old.c_str(), moves[i].to.c_str());
    }
  }
}

}  // namespace

WholeFolder::WholeFolder(const fs::path& target, ExistingFiles existing)
    : target_(target.has_filename() ? target : target.parent_path()) {
  std::error_code error;
  const bool is_refused = existing == ExistingFiles::refused;
  const fs::file_status status =
      is_refused ? fs::symlink_status(target_, error) : fs::status(target_, error);
  is_there_ = fs::exists(status);
  if (is_there_ && !fs::is_directory(status) && !is_refused) {
    fail_write("create", target_, ENOTDIR);
  }
  if (is_there_ && is_refused && !(fs::is_directory(status) && fs::is_empty(target_, error))) {
    throw Error("write", target.string(), "something that is there", "a new or an empty folder");
  }
  made_ = first_missing(target_.parent_path());
  make_folders(target_.parent_path());
  const bool is_inside = is_there_ && !is_refused;  // beside it may be another file system
  temporary_.emplace(is_inside ? target_ : target_.parent_path(), Temporary::Kind::folder, target_);
}

WholeFolder::~WholeFolder() {
  temporary_.reset();
  if (made_.empty()) return;
  // Folders that were made for nothing go again, those in use do not let themselves be removed.
  const fs::path stop = made_.parent_path();
  for (fs::path each = target_.parent_path(); each != stop; each = each.parent_path()) {
    if (::rmdir(each.c_str()) != 0) return;
  }
}

void WholeFolder::write(const std::string& name, std::string_view bytes) const {
  const fs::path path = this->path() / name;
  make_folders(path.parent_path());
  NewFile file(path);
  file.write(bytes);
  file.close();
}

void WholeFolder::commit() {
  sync_all_of(temporary_->descriptor(), target_);
  if (temporary_->path().parent_path() == target_) {
    move_files();
    sync_folder(target_);
  } else {
    temporary_->rename_to(target_);
  }
}

void WholeFolder::move_files() const {
  std::vector<Move> moves = moves_of(path(), target_);
  const fs::path kept = path() / ".replaced";
  make_folders(kept);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    Move& move = moves[i];
    try {
      make_folders(move.to.parent_path());
      const fs::path old = kept / std::to_string(i);
      if (::link(move.to.c_str(), old.c_str()) == 0) move.old = old;
      if (::rename(move.from.c_str(), move.to.c_str()) != 0) {
        fail_write("rename to", move.to, errno);
      }
    } catch (...) {
      move_back(moves, i);
      throw;
    }
  }
}

}  // namespace nibble::inline core
