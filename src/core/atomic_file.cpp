// SPDX-License-Identifier: Apache-2.0
// AtomicFile on POSIX calls, so that the reason of a failed write is known.
#include "core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <ostream>
#include <streambuf>
#include <system_error>
#include <utility>

#include "core/temporary.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

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

// A device or pipe, which is written in place.
class OpenDevice {
 public:
  explicit OpenDevice(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail_write("open", path, errno);
  }
  ~OpenDevice() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  int descriptor() const { return descriptor_; }
  void close(const fs::path& path) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_write("close", path, errno);
  }

 private:
  int descriptor_;
};

}  // namespace

struct AtomicFile::State {
  State(const fs::path& target_path, bool is_device) : target(target_path) {
    if (is_device) {
      device.emplace(target);
    } else {
      temporary.emplace(target.parent_path(), Temporary::Kind::file, target);
    }
    buffer.emplace(descriptor());
    stream.rdbuf(&*buffer);
  }

  int descriptor() const { return device ? device->descriptor() : temporary->descriptor(); }

  fs::path target;
  std::optional<OpenDevice> device;  // one of these two
  std::optional<Temporary> temporary;
  std::optional<DescriptorBuffer> buffer;
  std::ostream stream{nullptr};
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
  if (is_existing && S_ISDIR(old.st_mode)) fail_write("create", path, EISDIR);

  const bool is_device = is_existing && !S_ISREG(old.st_mode);
  state_ = std::make_unique<State>(target, is_device);
  if (is_existing && !is_device) (void)::fchmod(state_->descriptor(), old.st_mode & 0777);
}

AtomicFile::~AtomicFile() = default;

void check_writable(const fs::path& path) {
  AtomicFile{path};
}

std::ostream& AtomicFile::stream() {
  return state_->stream;
}

void AtomicFile::commit() {
  State& file = *state_;
  if (file.descriptor() < 0) throw Error("write", file.target.string() + " was already committed");
  file.stream.flush();
  if (file.buffer->error() != 0) fail_write("write", file.target, file.buffer->error());
  if (!file.stream) fail_write("write", file.target, EIO);
  sync_descriptor(file.descriptor(), file.target);
  if (file.device) {
    file.device->close(file.target);
  } else {
    file.temporary->rename_to(file.target);
  }
}

}  // namespace nibble::inline core
