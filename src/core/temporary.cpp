// SPDX-License-Identifier: Apache-2.0
// Temporaries on POSIX calls: locks tell the living from the dead, a fixed list serves signals.
#include "core/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

// Who takes a path out of its place owns it, be it a destructor or a signal handler. What finds no
// place is left to a sweep.
constexpr std::size_t kPlaces = 1024;
std::array<std::atomic<char*>, kPlaces> listed_paths;
static_assert(std::atomic<char*>::is_always_lock_free);

std::size_t list_path(const fs::path& path) {
  char* copy = ::strdup(path.c_str());
  for (std::size_t place = 0; copy != nullptr && place < kPlaces; ++place) {
    char* empty = nullptr;
    if (listed_paths[place].compare_exchange_strong(empty, copy)) return place;
  }
  std::free(copy);
  return kPlaces;
}

void unlist_path(std::size_t place) {
  if (place < kPlaces) std::free(listed_paths[place].exchange(nullptr));
}

void remove_tree(int parent, const char* name);

// True where an entry went; removing while reading may skip some.
bool remove_entries(int folder) {
  struct Entry {  // as the kernel writes it
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  bool is_changed = false;
  alignas(Entry) std::array<char, 4096> buffer;
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (bytes <= 0) return is_changed;
    for (long at = 0; at < bytes;) {
      const char* entry = buffer.data() + at;
      const char* name = entry + offsetof(Entry, name);
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(Entry, length), sizeof length);
      at += length;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      if (::unlinkat(folder, name, 0) == 0) {
        is_changed = true;
      } else if (errno == EISDIR) {
        remove_tree(folder, name);
        is_changed = is_changed || ::faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
      }
    }
  }
}

// A file, or a folder with all that is in it.
void remove_tree(int parent, const char* name) {
  if (::unlinkat(parent, name, 0) == 0 || errno != EISDIR) return;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  while (remove_entries(folder)) ::lseek(folder, 0, SEEK_SET);
  ::close(folder);
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

fs::path or_here(const fs::path& folder) {
  return folder.empty() ? fs::path(".") : folder;
}

// Once in a process for each folder.
void sweep_once(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> swept;
  {
    const std::lock_guard lock(mutex);
    if (!swept.insert(folder).second) return;
  }
  sweep_temporaries(folder);
}

bool has_no_writer(int descriptor) {
  struct stat about = {};
  return ::fstat(descriptor, &about) == 0 && about.st_uid == ::geteuid() &&
         (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) &&
         ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

bool is_nothing_to_sync(int code) {
  return code == EINVAL || code == EROFS || code == ENOTSUP;
}

}  // namespace

void fail_write(const char* action, const fs::path& path, int code) {
  throw Error(
      "write",
      fmt::format("cannot {} {}: {}", action, path.string(), std::generic_category().message(code)),
      ErrorKind::system);
}

Temporary::Temporary(const fs::path& folder, Kind kind, const fs::path& target) {
  static std::atomic<unsigned> next_number{0};
  sweep_once(folder);
  for (;;) {
    path_ = folder / fmt::format(".nibble-{}-{}.tmp", ::getpid(), next_number++);
    if (kind == Kind::folder && ::mkdir(path_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      fail_write("create", target, errno);
    }
    const int flags = kind == Kind::folder ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL;
    descriptor_ = ::open(path_.c_str(), flags | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      const int code = errno;
      if (kind == Kind::folder) ::rmdir(path_.c_str());
      if (kind == Kind::file && code == EEXIST) continue;
      fail_write("create", target, code);
    }
    if (take_lock()) break;
    ::close(descriptor_);
  }
  place_ = list_path(path_);
}

// False where a sweep came between the making and the lock. File systems without locks go without:
// what cannot be locked is not swept.
bool Temporary::take_lock() const {
  struct stat about = {};
  (void)::flock(descriptor_, LOCK_EX);
  return ::fstat(descriptor_, &about) != 0 || about.st_nlink > 0;
}

Temporary::~Temporary() {
  if (!path_.empty()) remove_tree(AT_FDCWD, path_.c_str());
  unlist_path(place_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Temporary::rename_to(const fs::path& target) {
  const int lock = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);  // keeps it until the rename
  const int descriptor = std::exchange(descriptor_, -1);
  int code = ::close(descriptor) != 0 ? errno : 0;
  const char* action = "close";
  if (code == 0 && ::rename(path_.c_str(), target.c_str()) != 0) {
    code = errno;
    action = "rename to";
  }
  if (code == 0) {
    path_.clear();
  } else {
    remove_tree(AT_FDCWD, path_.c_str());
  }
  if (lock >= 0) ::close(lock);
  if (code != 0) fail_write(action, target, code);
  sync_folder(target.parent_path());
}

void sweep_temporaries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(or_here(folder), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(".nibble-") && name.ends_with(".tmp")) found.push_back(entry->path());
  }
  for (const fs::path& path : found) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (has_no_writer(descriptor)) remove_tree(AT_FDCWD, path.c_str());
    ::close(descriptor);
  }
}

void remove_temporaries() {
  for (std::atomic<char*>& place : listed_paths) {
    const char* path = place.exchange(nullptr);
    if (path != nullptr) remove_tree(AT_FDCWD, path);
  }
}

void sync_descriptor(int descriptor, const fs::path& path) {
  if (::fsync(descriptor) != 0 && !is_nothing_to_sync(errno)) fail_write("sync", path, errno);
}

void sync_folder(const fs::path& folder) {
  const fs::path path = or_here(folder);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) return;  // one may write where one may not read
  if (descriptor < 0) fail_write("sync", path, errno);
  const int code = ::fsync(descriptor) != 0 ? errno : 0;
  ::close(descriptor);
  if (code != 0 && !is_nothing_to_sync(code)) fail_write("sync", path, code);
}

}  // namespace nibble::inline core
