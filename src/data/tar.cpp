// SPDX-License-Identifier: Apache-2.0
// Walks over the blocks of a tar archive.
#include "data/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/name.h"
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
constexpr std::uint64_t kMostExtension = 65536;  // bytes of a header that only names another

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
  char kind = '0';

  bool is_file() const { return kind == '0' || kind == '\0'; }
};

// None: a block of zeros, the end.
std::optional<Header> parse_header(std::span<const std::byte> block, const std::string& where) {
  if (std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte{0}; }))
    return std::nullopt;
  if (octal(field(block, kSumAt, kSumSize)) != sum_of(block)) {
    throw Error("read_tar", where + ": checksum", in_quotes(field(block, kSumAt, kSumSize)),
                fmt::format("{:o}", sum_of(block)), ErrorKind::input);
  }
  const std::optional<std::uint64_t> size = octal(field(block, kSizeAt, kSizeSize));
  if (!size) {
    throw Error("read_tar", where + ": size", "no octal number", "the bytes of a member",
                ErrorKind::input);
  }
  Header header{.name = std::string(field(block, kNameAt, kNameSize)),
                .bytes = *size,
                .kind = std::to_integer<char>(block[kKindAt])};
  const std::string_view prefix = field(block, kPrefixAt, kPrefixSize);
  const bool is_ustar = field(block, kMagicAt, 6) == "ustar";  // "ustar  " of old GNU has none
  if (is_ustar && !prefix.empty()) header.name = fmt::format("{}/{}", prefix, header.name);
  return header;
}

// What a member in front of another says of it: names that are long, or not of ASCII, and sizes.
struct Extension {
  std::optional<std::string> name = {};
  std::optional<std::uint64_t> bytes = {};
};

constexpr char kLongName = 'L';  // of GNU: the name alone
constexpr char kRecords = 'x';   // of POSIX: lines "LENGTH KEY=VALUE"

// The digits in front of `end`, taken away with it; none where there is anything else.
std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
  std::uint64_t value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(last - text.data());
  if (error != std::errc() || digits == text.size() || text[digits] != end) return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

Extension parse_records(std::string_view text, const std::string& where) {
  const auto refuse = [&] {
    throw Error("read_tar", where + ": extended header", "no such line", "LENGTH KEY=VALUE",
                ErrorKind::input);
  };
  Extension found;
  while (!text.empty()) {
    const std::size_t before = text.size();
    const std::optional<std::uint64_t> length = take_number(text, ' ');
    const std::size_t digits = before - text.size();
    if (!length || *length <= digits || *length > before) refuse();
    std::string_view line = text.substr(0, static_cast<std::size_t>(*length) - digits);
    text.remove_prefix(line.size());
    if (!line.ends_with('\n') || line.find('=') == line.npos) refuse();
    if (line.starts_with("path=")) found.name = line.substr(5, line.size() - 6);
    if (line.starts_with("size=")) {
      line.remove_prefix(5);
      found.bytes = take_number(line, '\n');
      if (!found.bytes || !line.empty()) refuse();
    }
  }
  return found;
}

std::string where_of(const std::string& name, std::uint64_t at) {
  return fmt::format("{}: header at {}", name, at);
}

[[noreturn]] void refuse_end(const std::string& name, std::uint64_t at, std::uint64_t left) {
  throw Error("read_tar", where_of(name, at), fmt::format("{} bytes", left), "512 bytes",
              ErrorKind::input);
}

void check_size(std::uint64_t bytes, std::uint64_t most, const std::string& where) {
  if (bytes <= most) return;
  throw Error("read_tar", where + ": size", std::to_string(bytes), fmt::format("at most {}", most),
              ErrorKind::input);
}

// Calls found(header of a plain file, place of its data); read(place, count) gives bytes.
template <class Read, class Found>
void walk(std::uint64_t total, const std::string& name, const Read& read, const Found& found) {
  Extension extension;
  for (std::uint64_t at = 0;;) {
    if (total - at < kBlock) refuse_end(name, at, total - at);
    const std::string where = where_of(name, at);
    std::optional<Header> header = parse_header(read(at, kBlock), where);
    if (!header) return;
    at += kBlock;
    if (header->kind == kLongName || header->kind == kRecords) {
      check_size(header->bytes, std::min(total - at, kMostExtension), where);
      const std::span<const std::byte> bytes = read(at, static_cast<std::size_t>(header->bytes));
      if (header->kind == kRecords) {
        extension =
            parse_records({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where);
      } else {
        extension.name = field(bytes, 0, bytes.size());
      }
    } else {
      if (extension.name) header->name = *std::move(extension.name);
      header->bytes = extension.bytes.value_or(header->bytes);
      extension = {};
      check_size(header->bytes, total - at, where);
      if (header->is_file()) found(*header, at);
    }
    const std::uint64_t padded = (header->bytes + kBlock - 1) / kBlock * kBlock;
    at += std::min(padded, total - at);
  }
}

}  // namespace

std::vector<TarFile> parse_tar(std::span<const std::byte> bytes, const std::string& name) {
  std::vector<TarFile> files;
  walk(
      bytes.size(), name,
      [&](std::uint64_t at, std::size_t count) {
        return bytes.subspan(static_cast<std::size_t>(at), count);
      },
      [&](const Header& header, std::uint64_t at) {
        files.push_back({header.name, bytes.subspan(static_cast<std::size_t>(at),
                                                    static_cast<std::size_t>(header.bytes))});
      });
  return files;
}

std::vector<TarMember> list_tar(const std::filesystem::path& path) {
  std::vector<TarMember> members;
  const FileReader file(path, "read_tar");
  std::vector<std::byte> bytes;
  walk(
      file_size_of(path, "read_tar"), path.string(),
      [&](std::uint64_t at, std::size_t count) -> std::span<const std::byte> {
        bytes.resize(count);
        file.read(at, bytes);
        return bytes;
      },
      [&](const Header& header, std::uint64_t at) {
        members.push_back({header.name, at, header.bytes});
      });
  return members;
}

}  // namespace nibble::inline data
