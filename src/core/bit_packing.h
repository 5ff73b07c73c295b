// SPDX-License-Identifier: Apache-2.0
// Codes of 1 to 32 bits one after another, least significant bit first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nibble::inline core {

constexpr std::size_t packed_bytes(std::size_t codes, int bits) {
  return (codes * static_cast<std::size_t>(bits) + 7) / 8;
}

constexpr std::uint32_t packed_code(std::span<const std::uint8_t> packed, std::size_t index,
                                    int bits) {
  const auto width = static_cast<std::size_t>(bits);
  const std::size_t first = index * width;
  std::uint64_t window = 0;
  for (std::size_t byte = first / 8; byte * 8 < first + width; ++byte) {
    window |= std::uint64_t{packed[byte]} << 8 * (byte - first / 8);
  }
  return static_cast<std::uint32_t>(window >> first % 8 & ((std::uint64_t{1} << bits) - 1));
}

// The bits it goes to are 0 before; those of the code beyond `bits` are left out.
constexpr void pack_code(std::span<std::uint8_t> packed, std::size_t index, int bits,
                         std::uint32_t code) {
  const auto width = static_cast<std::size_t>(bits);
  const std::size_t first = index * width;
  const std::uint64_t window = (code & ((std::uint64_t{1} << bits) - 1)) << first % 8;
  for (std::size_t byte = first / 8; byte * 8 < first + width; ++byte) {
    packed[byte] = static_cast<std::uint8_t>(packed[byte] | window >> 8 * (byte - first / 8));
  }
}

}  // namespace nibble::inline core
