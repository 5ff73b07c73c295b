// SPDX-License-Identifier: Apache-2.0
// Reads tensors from files beside the model, and from nowhere else.
#include "foreign/onnx/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <system_error>

#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_outside(const onnx::TensorProto& proto, std::string_view what,
                               std::string_view got, std::string_view expected) {
  throw Error("read_onnx", fmt::format("external data of {}: {}", in_quotes(proto.name()), what),
              got, expected, ErrorKind::input);
}

std::uint64_t number_of(const onnx::TensorProto& proto, const std::string& key,
                        const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    fail_outside(proto, key, in_quotes(text), "a number of bytes");
  }
  return number;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return at == folder.end() && rest != path.end();
}

fs::path checked_path(const onnx::TensorProto& proto, const fs::path& folder,
                      const std::string& location) {
  const auto refuse = [&] {
    fail_outside(proto, "location", in_quotes(location), "a file in the folder of the model");
  };
  const fs::path relative(location);
  if (folder.empty() || location.empty() || relative.is_absolute()) refuse();
  if (std::find(relative.begin(), relative.end(), "..") != relative.end()) refuse();
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  if (error) refuse();
  const fs::path path = fs::canonical(home / relative, error);  // follows links
  if (error) fail_outside(proto, "location", in_quotes(location), "a file that can be read");
  if (!is_below(path, home) || !fs::is_regular_file(path)) refuse();
  return path;
}

}  // namespace

std::string ExternalFiles::read(const onnx::TensorProto& proto, std::size_t size) {
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t length = size;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number_of(proto, "offset", entry.value());
    if (entry.key() == "length") length = number_of(proto, "length", entry.value());
  }
  const fs::path path = checked_path(proto, folder_, location);
  if (length != size) fail_outside(proto, "length", std::to_string(length), std::to_string(size));
  const std::uint64_t there = fs::file_size(path);
  if (offset > there || there - offset < size) {
    fail_outside(proto, in_quotes(location), fmt::format("{} bytes", there),
                 fmt::format("{} from byte {} on", size, offset));
  }
  std::uint64_t& taken = taken_[path];
  if (taken + size > there) {
    fail_outside(proto, fmt::format("bytes of all tensors in {}", in_quotes(location)),
                 std::to_string(taken + size), fmt::format("at most {}, its size", there));
  }
  taken += size;
  std::string bytes(size, '\0');
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::size_t>(in.gcount()) != size) {
    fail_outside(proto, "location", in_quotes(location), "a file that can be read");
  }
  return bytes;
}

}  // namespace nibble::inline foreign
