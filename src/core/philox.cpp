// SPDX-License-Identifier: Apache-2.0
// Philox for everyone who needs a few draws.
#include "nibble/core/philox.h"

#include "core/philox_draws.h"

namespace nibble::inline core {

PhiloxBlock philox4x32_10(const PhiloxBlock& counter, const std::array<std::uint32_t, 2>& key) {
  return philox::block(counter, key);
}

std::uint32_t draw32(const RandomKey& key, std::uint64_t element) {
  return philox::draw32(key, element);
}

std::uint16_t draw16(const RandomKey& key, std::uint64_t element) {
  return philox::draw16(key, element);
}

}  // namespace nibble::inline core
