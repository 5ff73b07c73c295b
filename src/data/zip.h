// SPDX-License-Identifier: Apache-2.0
// Zip archives as NumPy and other tools write them: stored and deflated entries, zip64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nibble::inline data {

struct ZipEntry {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated; others are refused when read
  std::uint32_t crc = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // of the local header
};

class ZipReader {
 public:
  // Borrows the bytes and reads the central directory; `name` is used in errors.
  ZipReader(std::span<const std::byte> bytes, const std::string& name);

  const std::vector<ZipEntry>& entries() const { return entries_; }

  // The bytes of an entry, their size and checksum checked.
  std::vector<std::byte> read(const ZipEntry& entry) const;

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
  std::vector<ZipEntry> entries_;
};

}  // namespace nibble::inline data
