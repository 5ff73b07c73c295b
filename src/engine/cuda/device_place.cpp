// SPDX-License-Identifier: Apache-2.0
// How integers are kept on a GPU.
#include "engine/cuda/device_place.h"

#include <cstring>

namespace nibble::inline engine {

cuda::DeviceValue DevicePlace::in(std::int8_t* arena) const {
  return {.data = data(arena),
          .chunks = static_cast<std::uint32_t>(chunks()),
          .channels = static_cast<std::uint32_t>(picture.channels),
          .height = static_cast<std::uint32_t>(picture.height),
          .width = static_cast<std::uint32_t>(picture.width),
          .borders = has_border ? 1U : 0U,
          .has_words = has_words ? 1U : 0U,
          .base = base,
          .unused = 0};
}

// Tensor cores take signed bytes; 0 is one of them whatever the range is, for what lies outside.
void DevicePlace::set_storage(const Interval& range) {
  constexpr std::int64_t kLeast = 128;  // below zero
  has_words = false;
  if (range.is_within(-128, 127)) {
    base = 0;
  } else if (range.is_within(0, 255)) {
    base = kLeast;
  } else if (range.low < 0 && range.low >= -255 && range.high - range.low <= 255) {
    base = static_cast<std::int32_t>(range.low + kLeast);
  } else {
    base = 0;
    has_words = true;
  }
}

void DevicePlace::set_storage_as(const DevicePlace& other) {
  has_words = other.has_words;
  base = other.base;
}

std::int32_t DevicePlace::number(const std::byte* bytes, std::int64_t pixel,
                                 std::int64_t channel) const {
  const std::int64_t at = pixel * filled_channels() + channel;
  if (!has_words) return static_cast<std::int8_t>(bytes[at]) + base;
  std::int32_t word = 0;
  std::memcpy(&word, bytes + at * 4, sizeof word);
  return word;
}

}  // namespace nibble::inline engine
