// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that lets one call on files fail, or a disk be full.
//
//   NIBBLE_FAULT_UNDER   folder (absolute): only calls on paths below it count
//   NIBBLE_FAULT         CALL:N:ERRNO, the N-th open, write, fsync, rename or close fails;
//                        space:N:ERRNO, all writes do once N bytes are written
//   NIBBLE_FAULT_LOG     file that gets a line when the fault has come, and at the end the counts:
//                        of the calls, and of renames that no fsync of a folder has followed
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Call { kOpen, kWrite, kFsync, kRename, kClose, kSpace, kCalls };
constexpr const char* kNames[kCalls] = {"open", "write", "fsync", "rename", "close", "space"};

std::atomic<long> counts[kCalls];
std::atomic<long> unsynced;  // renames that a power cut could undo

struct Fault {
  int call = -1;
  long at = 0;
  int code = 0;
  const char* under = nullptr;
};

const Fault& fault() {
  static const Fault read = [] {
    Fault result;
    result.under = std::getenv("NIBBLE_FAULT_UNDER");
    const char* text = std::getenv("NIBBLE_FAULT");
    char name[16] = {};
    if (text == nullptr ||
        std::sscanf(text, "%15[a-z]:%ld:%d", name, &result.at, &result.code) != 3)
      return result;
    for (int call = 0; call < kCalls; ++call) {
      if (std::strcmp(name, kNames[call]) == 0) result.call = call;
    }
    return result;
  }();
  return read;
}

// By the kernel itself: what this library writes is not counted.
void log(const char* line) {
  const char* path = std::getenv("NIBBLE_FAULT_LOG");
  if (path == nullptr) return;
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  (void)::syscall(SYS_write, file, line, std::strlen(line));
  (void)::syscall(SYS_close, file);
}

bool is_ours(const char* path) {
  const char* under = fault().under;
  return under != nullptr && std::strncmp(path, under, std::strlen(under)) == 0;
}

bool is_ours(int descriptor) {
  char link[32];
  char path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = ::readlink(link, path, sizeof path - 1);
  if (size < 0) return false;
  path[size] = '\0';
  return is_ours(path);
}

// Counts a call and says whether it is the one; errno is then set.
bool fails(Call call) {
  const long number = ++counts[call];
  if (fault().call != call || number != fault().at) return false;
  log("fault\n");
  errno = fault().code;
  return true;
}

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

struct Report {
  ~Report() {
    char line[64];
    for (int call = 0; call < kCalls; ++call) {
      std::snprintf(line, sizeof line, "%s %ld\n", kNames[call], counts[call].load());
      log(line);
    }
    std::snprintf(line, sizeof line, "unsynced %ld\n", unsynced.load());
    log(line);
  }
} report;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const call = real<int(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return is_ours(path) && fails(kOpen) ? -1 : call(path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static auto* const call = real<ssize_t(int, const void*, size_t)>("write");
  if (!is_ours(descriptor)) return call(descriptor, bytes, size);
  if (fails(kWrite)) return -1;
  const long before = counts[kSpace].fetch_add(static_cast<long>(size));
  if (fault().call == kSpace && before + static_cast<long>(size) > fault().at) {
    if (before <= fault().at) log("fault\n");
    const long room = fault().at - before;
    if (room > 0) return call(descriptor, bytes, static_cast<size_t>(room));
    errno = fault().code;
    return -1;
  }
  return call(descriptor, bytes, size);
}

int fsync(int descriptor) {
  static auto* const call = real<int(int)>("fsync");
  if (!is_ours(descriptor)) return call(descriptor);
  if (fails(kFsync)) return -1;
  struct stat about = {};
  if (::fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode)) unsynced = 0;
  return call(descriptor);
}

int syncfs(int descriptor) noexcept {
  static auto* const call = real<int(int)>("syncfs");
  if (!is_ours(descriptor)) return call(descriptor);
  if (fails(kFsync)) return -1;
  unsynced = 0;
  return call(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const call = real<int(const char*, const char*)>("rename");
  if (!is_ours(to)) return call(from, to);
  if (fails(kRename)) return -1;
  ++unsynced;
  return call(from, to);
}

int close(int descriptor) {
  static auto* const call = real<int(int)>("close");
  const bool is_failing = is_ours(descriptor) && fails(kClose);
  const int code = errno;
  const int result = call(descriptor);  // a descriptor is gone, whatever close says
  if (!is_failing) return result;
  errno = code;
  return -1;
}

}  // extern "C"
