// SPDX-License-Identifier: Apache-2.0
// Small files of text that people read and write.
#include "core/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <system_error>
#include <utility>

#include "core/atomic_file.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string read_text_file(const fs::path& path, std::string_view op, std::int64_t most) {
  const auto fail = [&](const std::string& why) {
    throw Error(op, fmt::format("cannot read {}: {}", path.string(), why), ErrorKind::system);
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(std::generic_category().message(error ? error.value() : ENOENT));
  if (!fs::is_regular_file(status)) fail("not a regular file");
  if (std::cmp_greater(fs::file_size(path, error), most))
    fail(fmt::format("longer than {} MiB", most >> 20));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) fail(std::generic_category().message(errno != 0 ? errno : EIO));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write_text_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.stream() << text;
  file.commit();
}

}  // namespace nibble::inline core
