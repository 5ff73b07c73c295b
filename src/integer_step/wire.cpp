// SPDX-License-Identifier: Apache-2.0
// Copies between backends, counted.
#include "integer_step/wire.h"

namespace nibble::inline integer_step {

void Wire::carry(const std::string& tensor, IntegerBackend& from, const Values& source,
                 IntegerBackend& to, const Values& target) {
  const std::int64_t exponent = source.exponent.place < 0 ? 0 : kExponentBytes;
  carry({tensor, &from, &to, source.images * source.picture.elements() + exponent},
        [&] { transfer(from, source, to, target); });
}

void Wire::carry(const Crossing& crossing, const std::function<void()>& copy) {
  if (observer_) observer_(crossing, false);
  copy();
  Traffic& traffic = traffic_[{crossing.from, crossing.to}];
  ++traffic.copies;
  traffic.bytes += crossing.bytes;
  if (observer_) observer_(crossing, true);
}

Traffic Wire::between(const IntegerBackend& from, const IntegerBackend& to) const {
  const auto found = traffic_.find({&from, &to});
  return found == traffic_.end() ? Traffic{} : found->second;
}

Traffic Wire::all() const {
  Traffic sum;
  for (const auto& [ends, traffic] : traffic_) {
    sum.copies += traffic.copies;
    sum.bytes += traffic.bytes;
  }
  return sum;
}

}  // namespace nibble::inline integer_step
