// SPDX-License-Identifier: Apache-2.0
// Two lines: of those in time, and of those that are late.
#include "loadgen/harness/waiting_samples.h"

#include <algorithm>

namespace nibble::inline loadgen {
namespace {

constexpr std::size_t kMostTaken = 4096;  // what was taken goes, seldom enough

template <class Each>
void append_front(const std::vector<Each>& list, std::size_t first, std::size_t count,
                  std::vector<Each>& to) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

template <class Each>
void erase_front(std::vector<Each>& list, std::size_t count) {
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void WaitingSamples::Line::move_front(std::size_t count, WaitedBatch& to) {
  append_front(list.samples, first, count, to.samples);
  append_front(list.issued, first, count, to.issued);
  first += count;
  if (size() == 0 || first > std::max(kMostTaken, size())) {
    erase_front(list.samples, first);
    erase_front(list.issued, first);
    first = 0;
  }
}

void WaitingSamples::add(std::span<const mlperf::QuerySample> query, LoadClock::time_point now) {
  std::vector<mlperf::QuerySample>& samples = in_time_.list.samples;
  samples.insert(samples.end(), query.begin(), query.end());
  in_time_.list.issued.resize(samples.size(), now);
  is_flushed_ = false;
}

bool WaitingSamples::is_ready(LoadClock::time_point now) const {
  if (is_empty()) return false;
  if (is_flushed_ || late_.size() > 0 || size() >= plan_.most_samples) return true;
  return now >= in_time_.first_issued() + plan_.longest_wait;
}

// A queue that serves the oldest first answers all of its samples late once it is longer than the
// bound. With the late ones behind them the others are in time again at once.
void WaitingSamples::set_late_aside(LoadClock::time_point now) {
  if (plan_.in_time_for.count() == 0) return;
  while (in_time_.size() > 0 && now > in_time_.first_issued() + plan_.in_time_for)
    in_time_.move_front(1, late_.list);
}

std::size_t WaitingSamples::samples_of_next() const {
  const std::size_t most = std::min(size(), plan_.most_samples);
  const std::vector<std::size_t>& sizes = plan_.sizes;
  return sizes.empty() ? most : *(std::ranges::upper_bound(sizes, most) - 1);
}

const WaitedBatch& WaitingSamples::take(LoadClock::time_point now) {
  set_late_aside(now);
  const std::size_t count = samples_of_next();
  const std::size_t in_time = std::min(count, in_time_.size());
  batch_.samples.clear();
  batch_.issued.clear();
  in_time_.move_front(in_time, batch_);
  late_.move_front(count - in_time, batch_);
  return batch_;
}

}  // namespace nibble::inline loadgen
