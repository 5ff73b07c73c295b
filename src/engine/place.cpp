// SPDX-License-Identifier: Apache-2.0
// How integers are kept.
#include "engine/place.h"

namespace nibble {
namespace {

std::int64_t packed_at(std::int64_t channel) {
  return channel / 64 * 32 + channel % 32;
}

}  // namespace

void set_storage(Place& place, const Interval& range, bool may_pack) {
  if (may_pack && place.channels % kFilterColumns == 0 && range.is_within(0, 15)) {
    place.storage = FilterStorage::u4;
    place.stride = place.channels / 2;
  } else if (range.is_within(0, 255) || range.is_within(-128, 127)) {
    place.storage = FilterStorage::u8;
    place.zero = range.low < 0 ? 128 : 0;
    place.stride = (place.channels + 3) / 4 * 4;
  } else if (range.low < 0 && range.low >= -255 && range.high - range.low <= 255) {
    place.storage = FilterStorage::u8;
    place.zero = static_cast<int>(-range.low);
    place.stride = (place.channels + 3) / 4 * 4;
  } else {
    place.storage = FilterStorage::s32;
    place.stride = place.channels * 4;
  }
}

std::int64_t read_value(const Place& place, const std::byte* pixel, std::int64_t channel) {
  switch (place.storage) {
    case FilterStorage::u8:
      return static_cast<std::int64_t>(pixel[channel]) - place.zero;
    case FilterStorage::u4: {
      const auto both = static_cast<int>(pixel[packed_at(channel)]);
      return channel % 64 < 32 ? both & 15 : both >> 4;
    }
    default:
      return reinterpret_cast<const std::int32_t*>(pixel)[channel];
  }
}

void write_value(const Place& place, std::byte* pixel, std::int64_t channel, std::int64_t value) {
  switch (place.storage) {
    case FilterStorage::u8:
      pixel[channel] = static_cast<std::byte>(value + place.zero);
      break;
    case FilterStorage::u4: {
      std::byte& both = pixel[packed_at(channel)];
      const auto half = static_cast<std::byte>(value);
      both =
          channel % 64 < 32 ? (both & std::byte{240}) | half : (both & std::byte{15}) | half << 4;
      break;
    }
    default:
      reinterpret_cast<std::int32_t*>(pixel)[channel] = static_cast<std::int32_t>(value);
  }
}

}  // namespace nibble
