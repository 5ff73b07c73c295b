// SPDX-License-Identifier: Apache-2.0
// AtomicFile on POSIX calls, so that the reason of a failed write is known.
#include "nibble/core/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <system_error>

#include "nibble/core/error.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* action, const fs::path& path, int code) {
  throw Error("write", fmt::format("cannot {} {}: {}", action, path.string(),
                                   std::generic_category().message(code)));
}

// Buffers writes to a descriptor and remembers the first error.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) { empty_buffer(); }

  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (!drain()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override { return drain() ? 0 : -1; }

  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (size < epptr() - pptr()) {
      std::memcpy(pptr(), text, static_cast<std::size_t>(size));
      pbump(static_cast<int>(size));
      return size;
    }
    return drain() && write_all(text, static_cast<std::size_t>(size)) ? size : 0;
  }

 private:
  void empty_buffer() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

  bool drain() {
    const bool is_written = write_all(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    empty_buffer();
    return is_written;
  }

  bool write_all(const char* text, std::size_t size) {
    while (size > 0 && error_ == 0) {
      const ssize_t written = ::write(descriptor_, text, size);
      if (written < 0) {
        if (errno != EINTR) error_ = errno;
        continue;
      }
      text += written;
      size -= static_cast<std::size_t>(written);
    }
    return error_ == 0;
  }

  int descriptor_;
  int error_ = 0;
  std::array<char, 1 << 16> buffer_;
};

// A new file beside the target; its name holds the process and a number, never the target's name,
// which may already be as long as a name can be.
int create_beside(const fs::path& target, fs::path& temporary) {
  static std::atomic<unsigned> next_number{0};
  for (;;) {
    temporary = target.parent_path() / fmt::format(".nibble-{}-{}.tmp", ::getpid(), next_number++);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) fail("create", target, errno);
  }
}

}  // namespace

struct AtomicFile::State {
  State(const fs::path& target_path, const fs::path& temporary_path, int fd)
      : target(target_path), temporary(temporary_path), descriptor(fd), buffer(fd) {}
  ~State() {
    if (descriptor >= 0) ::close(descriptor);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  fs::path target;
  fs::path temporary;  // empty: written in place, or renamed already
  int descriptor;
  DescriptorBuffer buffer;
  std::ostream stream{&buffer};
};

AtomicFile::AtomicFile(const fs::path& path) {
  fs::path target = path;
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {  // the link stays, what it points to is replaced
    const fs::path resolved = fs::canonical(path, ignored);
    if (!resolved.empty()) target = resolved;
  }
  struct stat old = {};
  const bool is_existing = ::stat(target.c_str(), &old) == 0;
  if (is_existing && S_ISDIR(old.st_mode)) fail("create", path, EISDIR);

  fs::path temporary;
  int descriptor = -1;
  if (is_existing && !S_ISREG(old.st_mode)) {
    descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail("open", path, errno);
  } else {
    descriptor = create_beside(target, temporary);
    if (is_existing) (void)::fchmod(descriptor, old.st_mode & 0777);
  }
  state_ = std::make_unique<State>(target, temporary, descriptor);
}

AtomicFile::~AtomicFile() = default;

std::ostream& AtomicFile::stream() {
  return state_->stream;
}

void AtomicFile::commit() {
  State& file = *state_;
  if (file.descriptor < 0) throw Error("write", file.target.string() + " was already committed");
  file.stream.flush();
  if (file.buffer.error() != 0) fail("write", file.target, file.buffer.error());
  if (!file.stream) fail("write", file.target, EIO);
  // Devices and pipes answer EINVAL: there is nothing to sync.
  if (::fsync(file.descriptor) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
    fail("sync", file.target, errno);
  }
  const int descriptor = file.descriptor;
  file.descriptor = -1;
  if (::close(descriptor) != 0) fail("close", file.target, errno);
  if (file.temporary.empty()) return;
  if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) {
    fail("rename to", file.target, errno);
  }
  file.temporary.clear();
}

}  // namespace nibble
