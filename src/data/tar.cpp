// SPDX-License-Identifier: Apache-2.0
// Walks over the blocks of a tar archive.
#include "data/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "data/file_bytes.h"
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

struct Header {
  std::string name;
  std::uint64_t bytes = 0;  // of data behind it
  bool is_file = false;
};

// None: a block of zeros, the end. `left` is what the archive holds behind the block.
std::optional<Header> parse_header(std::span<const std::byte> block, std::uint64_t left,
                                   const std::string& where) {
  if (std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte{0}; }))
    return std::nullopt;
  if (octal(field(block, kSumAt, kSumSize)) != sum_of(block)) {
    throw Error("read_tar", where + ": checksum", "another sum", fmt::format("{:o}", sum_of(block)),
                ErrorKind::input);
  }
  const std::optional<std::uint64_t> size = octal(field(block, kSizeAt, kSizeSize));
  if (!size || *size > left) {
    throw Error("read_tar", where + ": size", size ? std::to_string(*size) : "no octal number",
                fmt::format("at most {}", left), ErrorKind::input);
  }
  const char kind = std::to_integer<char>(block[kKindAt]);
  Header header{.name = std::string(field(block, kNameAt, kNameSize)),
                .bytes = *size,
                .is_file = kind == '0' || kind == '\0'};
  const std::string_view prefix = field(block, kPrefixAt, kPrefixSize);
  const bool is_ustar = field(block, kMagicAt, 6) == "ustar";  // "ustar  " of old GNU has none
  if (is_ustar && !prefix.empty()) header.name = fmt::format("{}/{}", prefix, header.name);
  return header;
}

std::string where_of(const std::string& name, std::uint64_t at) {
  return fmt::format("{}: header at {}", name, at);
}

[[noreturn]] void refuse_end(const std::string& name, std::uint64_t at, std::uint64_t left) {
  throw Error("read_tar", where_of(name, at), fmt::format("{} bytes", left), "512 bytes",
              ErrorKind::input);
}

// Calls found(header, place of its data); block_at(place) gives a header's bytes.
template <class BlockAt, class Found>
void walk(std::uint64_t total, const std::string& name, const BlockAt& block_at,
          const Found& found) {
  for (std::uint64_t at = 0;;) {
    if (total - at < kBlock) refuse_end(name, at, total - at);
    const std::optional<Header> header =
        parse_header(block_at(at), total - at - kBlock, where_of(name, at));
    if (!header) return;
    at += kBlock;
    if (header->is_file) found(*header, at);
    const std::uint64_t padded = (header->bytes + kBlock - 1) / kBlock * kBlock;
    at += std::min(padded, total - at);
  }
}

}  // namespace

std::vector<TarFile> parse_tar(std::span<const std::byte> bytes, const std::string& name) {
  std::vector<TarFile> files;
  walk(
      bytes.size(), name,
      [&](std::uint64_t at) { return bytes.subspan(static_cast<std::size_t>(at), kBlock); },
      [&](const Header& header, std::uint64_t at) {
        files.push_back({header.name, bytes.subspan(static_cast<std::size_t>(at),
                                                    static_cast<std::size_t>(header.bytes))});
      });
  return files;
}

std::vector<TarMember> list_tar(const std::filesystem::path& path) {
  std::vector<TarMember> members;
  const FileReader file(path, "read_tar");
  std::array<std::byte, kBlock> block = {};
  walk(
      file_size_of(path, "read_tar"), path.string(),
      [&](std::uint64_t at) -> std::span<const std::byte> {
        file.read(at, block);
        return block;
      },
      [&](const Header& header, std::uint64_t at) {
        members.push_back({header.name, at, header.bytes});
      });
  return members;
}

}  // namespace nibble::inline data
