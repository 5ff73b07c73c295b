// SPDX-License-Identifier: Apache-2.0
// Reads safetensors whose header was checked against the size of the file, and writes them.
#include "nibble/core/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <system_error>
#include <utility>

#include "core/atomic_file.h"
#include "core/hash.h"
#include "core/safetensors_header.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline core {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the data is copied as it is");

// Fills memory with the bytes from an offset on; a regular file or a span stands behind it.
using Source = std::function<void(std::uint64_t offset, std::span<std::byte> to)>;

Safetensors read_from(const Source& source, std::uint64_t size, const std::string& name) {
  check_limit("memory", static_cast<std::int64_t>(size), "read_safetensors", "bytes of " + name);
  std::vector<std::byte> first(std::min<std::uint64_t>(size, kSafetensorsLength));
  source(0, first);
  std::string text(safetensors_header_length(first, size, name), '\0');
  source(kSafetensorsLength, std::as_writable_bytes(std::span(text)));
  const std::uint64_t data = kSafetensorsLength + text.size();
  SafetensorsHeader header = parse_safetensors_header(text, size - data, name);

  Safetensors result{.metadata = std::move(header.metadata), .tensors = {}};
  result.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    Tensor tensor(entry.dtype, entry.shape);
    source(data + entry.begin, {tensor.data(), tensor.bytes()});
    result.tensors.push_back({.name = std::move(entry.name), .tensor = std::move(tensor)});
  }
  return result;
}

// Largest elements first: each tensor then begins at a multiple of its own element's size.
std::vector<std::size_t> data_order(std::span<const NamedTensorView> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(tensors[a].tensor.dtype()) > size_of(tensors[b].tensor.dtype());
  });
  return order;
}

void write_all(std::ostream& out, const SafetensorsMetadata& metadata,
               std::span<const NamedTensorView> tensors) {
  const std::vector<std::size_t> order = data_order(tensors);
  SafetensorsHeader header{.metadata = metadata, .entries = {}};
  for (const NamedTensorView& each : tensors) {
    if (each.tensor.device().kind != Device::Kind::cpu) {
      throw Error("write_safetensors", "device of " + each.name, "cuda", "cpu");
    }
    header.entries.push_back(
        {.name = each.name, .dtype = each.tensor.dtype(), .shape = each.tensor.shape()});
  }
  std::uint64_t at = 0;
  for (const std::size_t index : order) {
    header.entries[index].begin = at;
    header.entries[index].end = at += tensors[index].tensor.bytes();
  }
  out << safetensors_header_text(header);
  for (const std::size_t index : order) {
    const ConstTensorView& tensor = tensors[index].tensor;
    out.write(reinterpret_cast<const char*>(tensor.data()),
              static_cast<std::streamsize>(tensor.bytes()));
  }
}

// Lengths in front, so that no two contents give the same bytes.
void add_text(Hasher& hasher, std::string_view text) {
  hasher.add(std::to_string(text.size()));
  hasher.add(":");
  hasher.add(text);
}

}  // namespace

Safetensors read_safetensors(const fs::path& path) {
  const std::string name = path.string();
  const auto fail = [&](const std::string& why) {
    throw Error("read_safetensors", fmt::format("cannot read {}: {}", name, why),
                ErrorKind::system);
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(std::generic_category().message(error ? error.value() : ENOENT));
  if (!fs::is_regular_file(status)) fail("not a regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) fail(error.message());
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) fail(std::generic_category().message(errno != 0 ? errno : EIO));
  return read_from(
      [&](std::uint64_t offset, std::span<std::byte> to) {
        in.seekg(static_cast<std::streamoff>(offset));
        in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
        if (!in) fail("it changed while it was read");
      },
      size, name);
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return read_from(
      [&](std::uint64_t offset, std::span<std::byte> to) {
        if (!to.empty()) std::memcpy(to.data(), bytes.data() + offset, to.size());
      },
      bytes.size(), name);
}

void write_safetensors(const fs::path& path, const SafetensorsMetadata& metadata,
                       std::span<const NamedTensorView> tensors) {
  AtomicFile file(path);
  write_all(file.stream(), metadata, tensors);
  file.commit();
}

void write_safetensors(std::ostream& out, const SafetensorsMetadata& metadata,
                       std::span<const NamedTensorView> tensors) {
  write_all(out, metadata, tensors);
  if (!out.flush()) throw Error("write_safetensors", "cannot write", ErrorKind::system);
}

std::vector<NamedTensorView> views_of(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensorView> views;
  views.reserve(tensors.size());
  for (const NamedTensor& named : tensors) views.push_back({named.name, named.tensor.view()});
  return views;
}

std::string content_hash(const SafetensorsMetadata& metadata, std::vector<NamedTensorView> tensors,
                         std::string_view but) {
  Hasher hasher;
  for (const auto& [key, value] : metadata) {
    if (key == but) continue;
    add_text(hasher, key);
    add_text(hasher, value);
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const NamedTensorView& a, const NamedTensorView& b) { return a.name < b.name; });
  for (const NamedTensorView& named : tensors) {
    add_text(hasher, named.name);
    add_text(hasher, name_of(named.tensor.dtype()));
    add_text(hasher, named.tensor.shape().to_string());
    hasher.add(std::span<const std::byte>(named.tensor.data(), named.tensor.bytes()));
  }
  return hex(hasher.value());
}

}  // namespace nibble::inline core
