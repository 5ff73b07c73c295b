// SPDX-License-Identifier: Apache-2.0
// Checksums of other people's files: 32 bits, all ones before and after, bits reflected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nibble::inline core {

// IEEE 802.3, polynomial 0x04C11DB7: entries of zip archives, chunks of PNG.
std::uint32_t crc32_of(std::span<const std::byte> bytes);

// Castagnoli, polynomial 0x1EDC6F41: records of event files.
std::uint32_t crc32c_of(std::span<const std::byte> bytes);

}  // namespace nibble::inline core
