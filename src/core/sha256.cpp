// SPDX-License-Identifier: Apache-2.0
// SHA-256 as FIPS 180-4 defines it, section by section.
#include "core/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace nibble::inline core {
namespace {

constexpr std::size_t kBlock = 64;  // bytes

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2).
constexpr std::array<std::uint32_t, 64> kRoots = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return word;
}

}  // namespace

// 6.2.2
void Sha256::add_block(const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRoots[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> more = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < more.size(); ++i) state_[i] += more[i];
}

void Sha256::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t waiting = bytes_ % kBlock;
    const std::size_t piece = std::min(kBlock - waiting, bytes.size());
    if (piece == kBlock) {
      add_block(bytes.data());
    } else {
      std::memcpy(block_.data() + waiting, bytes.data(), piece);
      if (waiting + piece == kBlock) add_block(block_.data());
    }
    bytes_ += piece;
    bytes = bytes.subspan(piece);
  }
}

// 5.1.1: a one, zeros, and the length in bits at the end of a block.
std::string Sha256::hex() const {
  Sha256 padded = *this;
  std::array<std::byte, kBlock + 8> padding = {std::byte{0x80}};
  const std::size_t zeros = (kBlock + 55 - bytes_ % kBlock) % kBlock;
  for (std::size_t i = 0; i < 8; ++i)
    padding[1 + zeros + i] = static_cast<std::byte>(bytes_ * 8 >> (56 - 8 * i) & 0xFF);
  padded.add(std::span(padding).first(1 + zeros + 8));
  std::string text;
  for (const std::uint32_t word : padded.state_) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace nibble::inline core
