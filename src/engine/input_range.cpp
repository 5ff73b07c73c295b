// SPDX-License-Identifier: Apache-2.0
// Looks at every number of an input.
#include "engine/input_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

template <class Number>
void check_range_of(std::span<const std::byte> bytes, const ValueInfo& info) {
  const std::int64_t low = info.low + info.zero;
  const std::int64_t high = info.high + info.zero;
  if (low <= std::numeric_limits<Number>::min() && high >= std::numeric_limits<Number>::max())
    return;
  auto least = static_cast<Number>(low);
  auto most = static_cast<Number>(high);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    Number value;
    std::memcpy(&value, &bytes[at], sizeof value);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least >= low && most <= high) return;
  throw Error("engine", "input", std::to_string(least < low ? least : most),
              fmt::format("{} to {}", low, high));
}

}  // namespace

void check_range(std::span<const std::byte> bytes, const ValueInfo& info) {
  if (info.dtype == DType::i8) check_range_of<std::int8_t>(bytes, info);
  if (info.dtype == DType::u8) check_range_of<std::uint8_t>(bytes, info);
  if (info.dtype == DType::i32) check_range_of<std::int32_t>(bytes, info);
}

}  // namespace nibble::inline engine
