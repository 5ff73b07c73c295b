// SPDX-License-Identifier: Apache-2.0
// The times in which both devices compute.
#include "placement/crowding.h"

#include <algorithm>

namespace nibble::inline placement {

void Crowding::compute(std::uint8_t side, Nanoseconds begin, Nanoseconds end) {
  if (end > begin) spans_[side].emplace_back(begin, end);
}

Crowding::Stretch::Stretch(const Crowding& crowding, std::int64_t thousandths)
    : more_(thousandths - 1000) {
  const auto& [first, second] = crowding.spans_;
  Nanoseconds earlier = 0;
  for (std::size_t i = 0, k = 0; i < first.size() && k < second.size();) {
    const Nanoseconds begin = std::max(first[i].first, second[k].first);
    const Nanoseconds end = std::min(first[i].second, second[k].second);
    if (begin < end) {
      stops_.push_back({begin, end, earlier});
      earlier += end - begin;
    }
    first[i].second < second[k].second ? ++i : ++k;
  }
}

Nanoseconds Crowding::Stretch::operator()(Nanoseconds time) const {
  const auto after = std::ranges::lower_bound(stops_, time, {}, &Stop::begin);
  if (after == stops_.begin()) return time;
  const Stop& last = *std::prev(after);
  const Nanoseconds crowded = last.earlier + std::min(time, last.end) - last.begin;
  return time + crowded / 1000 * more_ + crowded % 1000 * more_ / 1000;  // the product may not fit
}

}  // namespace nibble::inline placement
