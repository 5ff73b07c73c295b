// SPDX-License-Identifier: Apache-2.0
// The ten rounds of Philox4x32 and the lanes that elements read from it.
#include "nibble/core/philox.h"

namespace nibble {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;  // golden ratio
constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
constexpr int kRounds = 10;

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

PhiloxBlock block_of(const RandomKey& key, std::uint64_t group) {
  return philox4x32_10({low(group), high(group), key.step, key.stream},
                       {low(key.seed), high(key.seed)});
}

}  // namespace

PhiloxBlock philox4x32_10(const PhiloxBlock& counter, const std::array<std::uint32_t, 2>& key) {
  PhiloxBlock x = counter;
  std::uint32_t k0 = key[0];
  std::uint32_t k1 = key[1];
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * x[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * x[2];
    x = {high(p1) ^ x[1] ^ k0, low(p1), high(p0) ^ x[3] ^ k1, low(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return x;
}

std::uint32_t draw32(const RandomKey& key, std::uint64_t element) {
  return block_of(key, element / 4)[element % 4];
}

std::uint16_t draw16(const RandomKey& key, std::uint64_t element) {
  const std::uint64_t lane = element % 8;
  const std::uint32_t word = block_of(key, element / 8)[lane / 2];
  return static_cast<std::uint16_t>(lane % 2 == 0 ? word : word >> 16);
}

}  // namespace nibble
