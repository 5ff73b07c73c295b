// SPDX-License-Identifier: Apache-2.0
// Reads zip archives from their central directory; every offset is checked before it is followed.
#include "data/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "core/crc32.h"
#include "data/gunzip.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034B50u;
constexpr std::uint32_t kCentralHeader = 0x02014B50u;
constexpr std::uint32_t kEnd = 0x06054B50u;
constexpr std::uint32_t kEnd64 = 0x06064B50u;
constexpr std::uint32_t kLocator64 = 0x07064B50u;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kMostComment = 65535;
constexpr std::uint64_t kSee64 = 0xFFFFFFFFu;  // the field stands in the zip64 record
constexpr std::uint16_t kExtra64 = 1;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kEncrypted = 1;

[[noreturn]] void fail(const std::string& name, std::string_view what, std::string_view got,
                       std::string_view expected, ErrorKind kind = ErrorKind::input) {
  throw Error("read_zip", fmt::format("{}: {}", name, what), got, expected, kind);
}

std::uint64_t number(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  }
  return value;
}

std::uint16_t number16(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(number(bytes, at, 2));
}

std::uint32_t number32(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(number(bytes, at, 4));
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A stretch of the archive, or an error that says what was to be there.
std::span<const std::byte> piece(std::span<const std::byte> bytes, std::uint64_t offset,
                                 std::uint64_t size, const std::string& name,
                                 std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    fail(name, what, fmt::format("{} bytes at {}", size, offset),
         fmt::format("inside of {} bytes", bytes.size()));
  }
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// Where the record at the end starts; a comment may follow it, nothing else.
std::size_t find_end(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() >= kEndBytes) {
    const std::size_t last = bytes.size() - kEndBytes;
    const std::size_t first = last - std::min(last, kMostComment);
    for (std::size_t at = last + 1; at-- > first;) {
      if (number32(bytes, at) == kEnd && number16(bytes, at + 20) == last - at) return at;
    }
  }
  fail(name, "end of the archive", "none", "a zip archive");
}

struct Directory {
  std::uint64_t count;
  std::uint64_t size;
  std::uint64_t offset;
};

Directory find_directory(std::span<const std::byte> bytes, const std::string& name) {
  const std::size_t end = find_end(bytes, name);
  Directory directory = {.count = number16(bytes, end + 10),
                         .size = number32(bytes, end + 12),
                         .offset = number32(bytes, end + 16)};
  const bool is_64 =
      directory.count == 0xFFFF || directory.size == kSee64 || directory.offset == kSee64;
  if (!is_64 || end < kLocator64Bytes || number32(bytes, end - kLocator64Bytes) != kLocator64) {
    return directory;
  }
  const std::uint64_t offset = number(bytes, end - kLocator64Bytes + 8, 8);
  const auto record = piece(bytes, offset, kEnd64Bytes, name, "zip64 record");
  if (number32(record, 0) != kEnd64) fail(name, "zip64 record", "another signature", "PK 6 6");
  return {.count = number(record, 32, 8),
          .size = number(record, 40, 8),
          .offset = number(record, 48, 8)};
}

// Fields of 32 bits that are all ones stand in the zip64 extra field, in this order.
void read_extra(std::span<const std::byte> extra, ZipEntry& entry, const std::string& name) {
  while (extra.size() >= 4) {
    const std::uint16_t kind = number16(extra, 0);
    const std::size_t size = number16(extra, 2);
    if (size > extra.size() - 4) break;
    std::span<const std::byte> field = extra.subspan(4, size);
    for (std::uint64_t* value : {&entry.size, &entry.packed_size, &entry.offset}) {
      if (kind != kExtra64 || *value != kSee64) continue;
      if (field.size() < 8) fail(name, entry.name + ": zip64 field", "cut short", "8 bytes");
      *value = number(field, 0, 8);
      field = field.subspan(8);
    }
    extra = extra.subspan(4 + size);
  }
}

std::vector<ZipEntry> read_directory(std::span<const std::byte> bytes, const std::string& name) {
  const Directory directory = find_directory(bytes, name);
  auto rest = piece(bytes, directory.offset, directory.size, name, "central directory");
  if (directory.count > rest.size() / kCentralBytes) {
    fail(name, "entries", std::to_string(directory.count),
         fmt::format("what a central directory of {} bytes holds", rest.size()));
  }
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  // Of all entries together: several may share their packed bytes.
  const auto most =
      static_cast<std::uint64_t>(most_inflated(static_cast<std::int64_t>(bytes.size())));
  std::uint64_t unpacked = 0;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    const std::string what = fmt::format("entry {}", i);
    const auto header = piece(rest, 0, kCentralBytes, name, what);
    if (number32(header, 0) != kCentralHeader) fail(name, what, "another signature", "PK 1 2");
    const std::size_t name_size = number16(header, 28);
    const std::size_t extra_size = number16(header, 30);
    const std::size_t comment_size = number16(header, 32);
    const auto whole =
        piece(rest, 0, kCentralBytes + name_size + extra_size + comment_size, name, what);
    ZipEntry entry = {.name = text(whole.subspan(kCentralBytes, name_size)),
                      .method = number16(header, 10),
                      .crc = number32(header, 16),
                      .packed_size = number32(header, 20),
                      .size = number32(header, 24),
                      .offset = number32(header, 42)};
    if ((number16(header, 8) & kEncrypted) != 0) fail(name, entry.name, "encrypted", "plain");
    read_extra(whole.subspan(kCentralBytes + name_size, extra_size), entry, name);
    if (!names.insert(entry.name).second) fail(name, "entries", "two of one name", "one each");
    entries.push_back(std::move(entry));
    rest = rest.subspan(whole.size());
    if (entries.back().size > most - unpacked) {
      fail(name, "unpacked data", fmt::format("more than {} bytes", most),
           at_most("inflation", static_cast<std::int64_t>(most)), ErrorKind::limit);
    }
    unpacked += entries.back().size;
  }
  return entries;
}

}  // namespace

ZipReader::ZipReader(std::span<const std::byte> bytes, const std::string& name)
    : bytes_(bytes), name_(name), entries_(read_directory(bytes, name)) {}

std::vector<std::byte> ZipReader::read(const ZipEntry& entry) const {
  const auto header = piece(bytes_, entry.offset, kLocalBytes, name_, entry.name);
  if (number32(header, 0) != kLocalHeader) {
    fail(name_, entry.name + ": local header", "another signature", "PK 3 4");
  }
  const std::uint64_t start =
      entry.offset + kLocalBytes + number16(header, 26) + number16(header, 28);
  const auto packed = piece(bytes_, start, entry.packed_size, name_, entry.name);
  const std::string name = fmt::format("{}: {}", name_, entry.name);
  std::vector<std::byte> data;
  if (entry.method == kDeflated) {
    data = inflate_all(packed, static_cast<std::size_t>(entry.size), name);
  } else if (entry.method != kStored) {
    fail(name_, entry.name + ": method", std::to_string(entry.method),
         "0 (stored) or 8 (deflated)");
  } else if (entry.size != entry.packed_size) {
    fail(name_, entry.name + ": size", std::to_string(entry.size),
         std::to_string(entry.packed_size));
  } else {
    data.assign(packed.begin(), packed.end());
  }
  if (const std::uint32_t crc = crc32_of(data); crc != entry.crc) {
    fail(name_, entry.name + ": checksum", fmt::format("{:08x}", crc),
         fmt::format("{:08x}", entry.crc));
  }
  return data;
}

}  // namespace nibble::inline data
