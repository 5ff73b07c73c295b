// SPDX-License-Identifier: Apache-2.0
// Which stream of random numbers belongs to whom, so that no two users share draws.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nibble::inline float_training {

inline constexpr std::uint32_t kRoundingStreams = 0x10000000u;  // + role·2^20 + node·16 + parameter
inline constexpr std::uint32_t kWireStreams = 0x18000000u;      // + node·2 + (0 sent, 1 fetched)
inline constexpr std::uint32_t kDropoutStreams = 0x20000000u;  // + node
inline constexpr std::uint32_t kInitialStreams = 0x30000000u;  // + place in parameters_of
inline constexpr std::uint32_t kProductStreams = 0x40000000u;  // + product·2^28 + node·2^15 + group

inline std::uint32_t stream_of(std::uint32_t base, std::size_t index) {
  return base + static_cast<std::uint32_t>(index);
}

}  // namespace nibble::inline float_training
