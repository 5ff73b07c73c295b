// SPDX-License-Identifier: Apache-2.0
// The checksum of zip entries, without zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nibble::inline data {

// CRC-32 of IEEE 802.3: the polynomial 0x04C11DB7, bits reflected, all ones before and after.
std::uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace nibble::inline data
