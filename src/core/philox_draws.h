// SPDX-License-Identifier: Apache-2.0
// The ten rounds of Philox4x32 and the lanes that elements read from it.
//
// Not in the public header: files of other instruction sets read that one, and no code of theirs
// may take the place of a function that all machines run.
#pragma once

#include "nibble/core/host_device.h"
#include "nibble/core/philox.h"

namespace nibble::inline core::philox {

NIBBLE_HOST_DEVICE inline PhiloxBlock block(const PhiloxBlock& counter,
                                            const std::array<std::uint32_t, 2>& key) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;
  constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;  // golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
  constexpr int kRounds = 10;
  PhiloxBlock x = counter;
  std::uint32_t k0 = key[0];
  std::uint32_t k1 = key[1];
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * x[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * x[2];
    x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return x;
}

NIBBLE_HOST_DEVICE inline PhiloxBlock block_of(const RandomKey& key, std::uint64_t group) {
  return block({static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32),
                key.step, key.stream},
               {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
}

NIBBLE_HOST_DEVICE inline std::uint32_t draw32(const RandomKey& key, std::uint64_t element) {
  return block_of(key, element / 4)[element % 4];
}

NIBBLE_HOST_DEVICE inline std::uint16_t draw16(const RandomKey& key, std::uint64_t element) {
  const std::uint64_t lane = element % 8;
  const std::uint32_t word = block_of(key, element / 8)[lane / 2];
  return static_cast<std::uint16_t>(lane % 2 == 0 ? word : word >> 16);
}

}  // namespace nibble::inline core::philox
