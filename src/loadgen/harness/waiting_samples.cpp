// SPDX-License-Identifier: Apache-2.0
// Two lists whose fronts are taken.
#include "loadgen/harness/waiting_samples.h"

#include <algorithm>

namespace nibble::inline loadgen {
namespace {

constexpr std::size_t kMostTaken = 4096;  // what was taken goes, seldom enough

template <class Each>
void copy_front(const std::vector<Each>& list, std::size_t first, std::size_t count,
                std::vector<Each>& to) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
  to.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
}

template <class Each>
void erase_front(std::vector<Each>& list, std::size_t count) {
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void WaitingSamples::add(std::span<const mlperf::QuerySample> query, LoadClock::time_point now) {
  samples_.insert(samples_.end(), query.begin(), query.end());
  issued_.resize(samples_.size(), now);
  is_flushed_ = false;
}

bool WaitingSamples::is_ready(LoadClock::time_point now) const {
  if (is_empty()) return false;
  return is_flushed_ || size() >= plan_.most_samples || now >= issued_[first_] + plan_.longest_wait;
}

std::size_t WaitingSamples::samples_of_next() const {
  const std::size_t most = std::min(size(), plan_.most_samples);
  const std::vector<std::size_t>& sizes = plan_.sizes;
  return sizes.empty() ? most : *(std::ranges::upper_bound(sizes, most) - 1);
}

const WaitedBatch& WaitingSamples::take() {
  const std::size_t count = samples_of_next();
  copy_front(samples_, first_, count, batch_.samples);
  copy_front(issued_, first_, count, batch_.issued);
  first_ += count;
  if (is_empty() || first_ > kMostTaken) {
    erase_front(samples_, first_);
    erase_front(issued_, first_);
    first_ = 0;
  }
  return batch_;
}

}  // namespace nibble::inline loadgen
