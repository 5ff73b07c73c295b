// SPDX-License-Identifier: Apache-2.0
// Reads regular files; its size is known, so nothing is believed that a file says of
// itself.
#include "data/file_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view op,
                       const std::string& why) {
  throw Error(op, "cannot read " + path.string() + ": " + why, ErrorKind::system);
}

}  // namespace

FileReader::FileReader(std::filesystem::path path, std::string_view op)
    : path_(std::move(path)), op_(op), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(path_, op_, std::generic_category().message(errno));
}

FileReader::~FileReader() {
  ::close(descriptor_);
}

void FileReader::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ::ssize_t got = ::pread(descriptor_, to.data(), to.size(), static_cast<::off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, op_, std::generic_category().message(errno));
    if (got == 0) fail(path_, op_, "it changed while it was read");
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::uint64_t file_size_of(const std::filesystem::path& path, std::string_view op) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) fail(path, op, error.message());
  if (!std::filesystem::is_regular_file(status)) fail(path, op, "not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail(path, op, error.message());
  return size;
}

std::vector<std::byte> read_file_bytes(const std::filesystem::path& path, std::string_view op) {
  const std::uint64_t size = file_size_of(path, op);
  check_limit("memory", static_cast<std::int64_t>(size), op, "bytes of " + path.string());
  std::vector<std::byte> bytes(size);
  FileReader(path, op).read(0, bytes);
  return bytes;
}

std::vector<std::byte> read_file_head(const std::filesystem::path& path, std::size_t most,
                                      std::string_view op) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(std::min<std::uint64_t>(file_size_of(path, op), most)));
  FileReader(path, op).read(0, bytes);
  return bytes;
}

}  // namespace nibble::inline data
