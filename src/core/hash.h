// SPDX-License-Identifier: Apache-2.0
// 64-bit content hashes (XXH3) for signatures, checkpoints and files.
#pragma once

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

}  // namespace nibble::inline core
