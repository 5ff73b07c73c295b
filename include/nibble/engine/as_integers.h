// SPDX-License-Identifier: Apache-2.0
// What enters or leaves an engine as plain integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "nibble/engine/engine.h"

namespace nibble::inline engine {

inline std::vector<std::int64_t> as_integers(const ValueInfo& info,
                                             std::span<const std::byte> bytes) {
  std::vector<std::int64_t> result;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(info.dtype)) {
    std::int32_t word = 0;
    std::memcpy(&word, &bytes[at], size_of(info.dtype));
    result.push_back((info.dtype == DType::i8 ? static_cast<std::int8_t>(word) : word) - info.zero);
  }
  return result;
}

}  // namespace nibble::inline engine
