// SPDX-License-Identifier: Apache-2.0
// XXH3 behind the hash interface.
#include "core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace nibble::inline core {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct Hasher::State {
  State() : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}

Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

void Hasher::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

std::uint64_t Hasher::value() const {
  return XXH3_64bits_digest(state_->xxh);
}

std::string hex(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace nibble::inline core
