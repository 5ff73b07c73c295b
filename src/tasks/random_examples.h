// SPDX-License-Identifier: Apache-2.0
// Made-up examples of what an engine takes, the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "nibble/core/philox.h"
#include "nibble/engine/engine.h"

namespace nibble::inline tasks {

inline std::vector<std::byte> random_examples(const ValueInfo& info, std::int64_t batch) {
  std::vector<std::byte> bytes(info.bytes * static_cast<std::size_t>(batch));
  const auto range = static_cast<std::uint32_t>(info.high - info.low + 1);
  const std::int64_t low = info.low + info.zero;
  const auto number = [&](std::size_t i) { return low + draw32({1, 1, 0}, i) % range; };
  if (info.dtype == DType::i32) {
    for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
      const auto value = static_cast<std::int32_t>(number(i));
      std::memcpy(&bytes[4 * i], &value, 4);
    }
    return bytes;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number(i));
  return bytes;
}

}  // namespace nibble::inline tasks
