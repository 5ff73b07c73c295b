// SPDX-License-Identifier: Apache-2.0
// What parts of a batch tell each other from pass to pass.
#include "integer_step/batch_parts.h"

#include <algorithm>

#include "nibble/core/error.h"

namespace nibble::inline integer_step {

BatchParts::Meeting& BatchParts::meet(std::span<const std::int64_t> values, Join join) {
  if (next_ == meetings_.size()) meetings_.push_back({.join = join});
  Meeting& meeting = meetings_[next_++];
  if (meeting.found.empty()) {
    meeting.found.assign(values.begin(), values.end());
    return meeting;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t& found = meeting.found[i];
    found = join == Join::sum ? found + values[i] : std::max(found, values[i]);
  }
  return meeting;
}

void BatchParts::sum(std::span<std::int64_t> values) {
  const Meeting& meeting = meet(values, Join::sum);
  std::ranges::copy(meeting.believed.empty() ? meeting.found : meeting.believed, values.begin());
}

// A part is never above the maximum of all, unless that is not settled: then nothing may
// overflow all the same.
void BatchParts::max(std::span<std::int64_t> values) {
  const Meeting& meeting = meet(values, Join::max);
  const std::vector<std::int64_t>& all =
      meeting.believed.empty() ? meeting.found : meeting.believed;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], all[i]);
}

// Of gradients and answers, which no forward pass adds up.
void BatchParts::sum(std::span<std::int32_t>) {
  throw Error("integers", "sum over parts of a batch", "32 bits", "statistics, of 64");
}

void BatchParts::broadcast(std::span<std::byte>, int) {
  throw Error("integers", "parts of a batch", "a broadcast", "sums and maxima");
}

bool BatchParts::end_pass() {
  bool is_settled = true;
  for (Meeting& each : meetings_) {
    if (ranks_ != nullptr)
      each.join == Join::sum ? ranks_->sum(each.found) : ranks_->max(each.found);
    is_settled = is_settled && each.found == each.believed;
    each.believed = std::move(each.found);
    each.found.clear();
  }
  return is_settled;
}

}  // namespace nibble::inline integer_step
