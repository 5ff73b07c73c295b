// SPDX-License-Identifier: Apache-2.0
// How integers are kept.
#include "engine/cpu/place.h"

#include "core/checked.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kSides = 2;  // of a row that have a border

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

void check_place(const Place& place) {
  const std::int64_t columns = checked_sum(place.width, checked_product(place.border, kSides));
  (void)checked_product(place.height, columns, place.stride);
}

}  // namespace nibble::inline engine
