// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the checksum of event files.
#pragma once

#include <cstdint>
#include <string_view>

namespace nibble::inline report {

std::uint32_t crc32c(std::string_view bytes);

// As event files store it: turned right by 15 bits, plus a constant, so that a checksum of bytes
// that hold checksums stays a good one.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace nibble::inline report
