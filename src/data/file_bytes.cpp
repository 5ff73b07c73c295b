// SPDX-License-Identifier: Apache-2.0
// Reads a regular file at once; its size is known, so nothing is believed that a file says of
// itself.
#include "data/file_bytes.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {

std::vector<std::byte> read_file_bytes(const std::filesystem::path& path, std::string_view op) {
  const auto fail = [&](const std::string& why) {
    throw Error(op, "cannot read " + path.string() + ": " + why, ErrorKind::system);
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) fail(error.message());
  if (!std::filesystem::is_regular_file(status)) fail("not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail(error.message());
  check_limit("memory", static_cast<std::int64_t>(size), op, "bytes of " + path.string());
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) fail(std::generic_category().message(errno != 0 ? errno : EIO));
  std::vector<std::byte> bytes(size);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(in.gcount()) != size) fail("it changed while it was read");
  return bytes;
}

}  // namespace nibble::inline data
