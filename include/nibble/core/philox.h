// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., SC'11): randomness as a function of its counter, not a stream.
#pragma once

#include <array>
#include <cstdint>

namespace nibble::inline core {

using PhiloxBlock = std::array<std::uint32_t, 4>;

PhiloxBlock philox4x32_10(const PhiloxBlock& counter, const std::array<std::uint32_t, 2>& key);

// Where a draw lives. Counter words: group low, group high, step, stream; key: seed low, seed high.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t step = 0;
};

// 32-bit draw of an element: lane i mod 4 of counter i div 4.
std::uint32_t draw32(const RandomKey& key, std::uint64_t element);

// 16-bit draw of an element: 16-bit lane i mod 8 of counter i div 8 (low half of a word first).
std::uint16_t draw16(const RandomKey& key, std::uint64_t element);

}  // namespace nibble::inline core
