// SPDX-License-Identifier: Apache-2.0
// Writes a folder beside its place and renames it.
#include "graph/layer_directory/whole_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "nibble/core/error.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* action, const fs::path& path, const std::error_code& code) {
  throw Error("write", fmt::format("cannot {} {}: {}", action, path.string(), code.message()));
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

// Goes away again unless it was renamed.
class FolderBeside {
 public:
  explicit FolderBeside(const fs::path& target) {
    static std::atomic<unsigned> next_number{0};
    std::error_code error;
    do {
      path_ = target.parent_path() / fmt::format(".nibble-{}-{}.tmp", ::getpid(), next_number++);
    } while (!fs::create_directory(path_, error) && !error);  // false: there is one of this name
    if (error) fail("create", target, error);
  }
  ~FolderBeside() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;

  const fs::path& path() const { return path_; }

  void rename_to(const fs::path& target) {
    std::error_code error;
    fs::rename(path_, target, error);
    if (error) fail("rename to", target, error);
    path_.clear();
  }

 private:
  fs::path path_;
};

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : number_(::open(path.c_str(), flags, 0666)) {
    if (number_ < 0) fail("open", path, last_error());
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void write_file(const fs::path& path, std::string_view bytes) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail("write", path, last_error());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// One call for hundreds of small files, where each file's own would take seconds.
void sync(const fs::path& folder) {
  const Descriptor it(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::syncfs(it.number()) != 0) fail("sync", folder, last_error());
}

}  // namespace

void write_whole_folder(const fs::path& folder, const std::vector<WrittenFile>& files) {
  const fs::path target = folder.has_filename() ? folder : folder.parent_path();
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(target, error))) {
    throw Error("write", folder.string(), "something that is there", "a new or an empty folder");
  }
  if (const fs::path above = target.parent_path(); !above.empty()) {
    fs::create_directories(above, error);
    if (error) fail("create", above, error);
  }
  FolderBeside beside(target);
  for (const WrittenFile& each : files) {
    const fs::path path = beside.path() / each.path;
    fs::create_directories(path.parent_path(), error);
    if (error) fail("create", path.parent_path(), error);
    write_file(path, each.bytes);
  }
  sync(beside.path());
  beside.rename_to(target);
}

}  // namespace nibble
