// SPDX-License-Identifier: Apache-2.0
// Checksums a byte at a time, by table.
#include "core/crc32.h"

#include <array>

namespace nibble::inline core {
namespace {

using CrcTable = std::array<std::uint32_t, 256>;

constexpr CrcTable table_of(std::uint32_t reflected_polynomial) {
  CrcTable table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? reflected_polynomial : 0);
    table[i] = rest;
  }
  return table;
}

std::uint32_t checksum_of(std::span<const std::byte> bytes, const CrcTable& table) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : bytes)
    crc = table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

}  // namespace

std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  static constexpr CrcTable kTable = table_of(0xEDB88320);
  return checksum_of(bytes, kTable);
}

std::uint32_t crc32c_of(std::span<const std::byte> bytes) {
  static constexpr CrcTable kTable = table_of(0x82F63B78);
  return checksum_of(bytes, kTable);
}

}  // namespace nibble::inline core
