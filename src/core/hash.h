// SPDX-License-Identifier: Apache-2.0
// Content hashes: XXH3 in 64 bits for signatures, checkpoints and files of our own, SHA-256 for
// what comes from strangers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace nibble::inline core {

std::uint64_t hash_of(std::span<const std::byte> bytes);

// Hash of a sequence of pieces; independent of how the bytes were cut.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  template <class T>
  void add(std::span<const T> values) {
    add(std::as_bytes(values));
  }

  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hex(std::uint64_t hash);  // 16 lower-case digits

// SHA-256 (FIPS 180-4), where XXH3 could be forged, of a sequence of pieces; independent of how the
// bytes were cut.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  std::string hex() const;  // 64 lower-case digits, of what was added so far

 private:
  void add_block(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_ = {};
  std::uint64_t bytes_ = 0;  // added; the last bytes_ % 64 wait in block_
};

}  // namespace nibble::inline core
