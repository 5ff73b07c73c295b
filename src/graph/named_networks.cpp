// SPDX-License-Identifier: Apache-2.0
// The networks of the folder networks/, which the build puts into the library, and files beside.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/embedded_text.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"

namespace nibble {

std::span<const EmbeddedText> network_texts();  // made by nibble_embed_texts

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxText = std::uintmax_t{16} << 20;

std::string text_of(const fs::path& path) {
  const auto fail = [&](const std::string& why) {
    throw Error("network", fmt::format("cannot read {}: {}", path.string(), why));
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(std::generic_category().message(error ? error.value() : ENOENT));
  if (!fs::is_regular_file(status)) fail("not a regular file");
  if (fs::file_size(path, error) > kMaxText) fail("longer than any network");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) fail(std::generic_category().message(errno != 0 ? errno : EIO));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

std::vector<NamedNetwork> named_networks() {
  std::vector<NamedNetwork> networks;
  for (const EmbeddedText& each : network_texts()) networks.push_back({each.name, each.text});
  return networks;
}

Network load_network(std::string_view name_or_path) {
  std::string names;
  for (const NamedNetwork& each : named_networks()) {
    if (each.name == name_or_path) return parse_network(each.toml, each.name);
    names += fmt::format("{}, ", each.name);
  }
  if (name_or_path.ends_with(".toml")) {
    return parse_network(text_of(fs::path(name_or_path)), name_or_path);
  }
  throw Error("network", "network", in_quotes(name_or_path), names + "or the path of a .toml file");
}

}  // namespace nibble
