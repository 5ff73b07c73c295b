// SPDX-License-Identifier: Apache-2.0
// Walks over the blocks of a tar archive.
#include "data/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameAt = 0, kNameSize = 100;
constexpr std::size_t kSizeAt = 124, kSizeSize = 12;
constexpr std::size_t kSumAt = 148, kSumSize = 8;
constexpr std::size_t kKindAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345, kPrefixSize = 155;

std::string_view field(std::span<const std::byte> block, std::size_t at, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + at, size);
  return text.substr(0, text.find('\0'));
}

// Octal digits between spaces; none when it is anything else.
std::optional<std::uint64_t> octal(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');  // at most 12 digits
  }
  if (text.empty()) return std::nullopt;
  return value;
}

// The sum of all bytes of the header, its own field taken as spaces.
std::uint64_t sum_of(std::span<const std::byte> block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool is_sum = i >= kSumAt && i < kSumAt + kSumSize;
    sum += is_sum ? std::uint64_t{' '} : std::to_integer<std::uint64_t>(block[i]);
  }
  return sum;
}

}  // namespace

std::vector<TarFile> parse_tar(std::span<const std::byte> bytes, const std::string& name) {
  std::vector<TarFile> files;
  for (std::size_t at = 0;;) {
    const std::string where = fmt::format("{}: header at {}", name, at);
    if (bytes.size() - at < kBlock) {
      throw Error("read_tar", where, fmt::format("{} bytes", bytes.size() - at), "512 bytes",
                  ErrorKind::input);
    }
    const auto header = bytes.subspan(at, kBlock);
    if (std::ranges::all_of(header, [](std::byte byte) { return byte == std::byte{0}; })) {
      return files;
    }
    if (octal(field(header, kSumAt, kSumSize)) != sum_of(header)) {
      throw Error("read_tar", where + ": checksum", "another sum",
                  fmt::format("{:o}", sum_of(header)), ErrorKind::input);
    }
    const std::optional<std::uint64_t> size = octal(field(header, kSizeAt, kSizeSize));
    at += kBlock;
    if (!size || *size > bytes.size() - at) {
      throw Error("read_tar", where + ": size", size ? std::to_string(*size) : "no octal number",
                  fmt::format("at most {}", bytes.size() - at), ErrorKind::input);
    }
    const char kind = std::to_integer<char>(header[kKindAt]);
    if (kind == '0' || kind == '\0') {
      TarFile file = {.name = std::string(field(header, kNameAt, kNameSize)),
                      .data = bytes.subspan(at, static_cast<std::size_t>(*size))};
      const std::string_view prefix = field(header, kPrefixAt, kPrefixSize);
      const bool is_ustar = field(header, kMagicAt, 6) == "ustar";  // "ustar  " of old GNU has none
      if (is_ustar && !prefix.empty()) file.name = fmt::format("{}/{}", prefix, file.name);
      files.push_back(std::move(file));
    }
    const std::size_t padded = (static_cast<std::size_t>(*size) + kBlock - 1) / kBlock * kBlock;
    at += std::min(padded, bytes.size() - at);
  }
}

}  // namespace nibble::inline data
