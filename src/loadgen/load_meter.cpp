// SPDX-License-Identifier: Apache-2.0
// Counts batches and writes three tables.
#include "loadgen/load_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "core/text_file.h"

namespace nibble::inline loadgen {
namespace {

constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(100);
constexpr std::int64_t kBuckets = 8;  // of a doubling
static_assert(LoadTally::kBuckets == 64 * kBuckets);

// Bucket 8·k + j ends at 2^k·(1 + (j + 1)/8) ns.
std::size_t bucket_of(std::int64_t ns) {
  if (ns < kBuckets) return 0;
  const int power = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(ns))) - 1;
  const std::int64_t part = (ns - (std::int64_t{1} << power)) * kBuckets >> power;
  return static_cast<std::size_t>(power * kBuckets + part);
}

double end_of(std::size_t bucket) {
  const auto place = static_cast<std::int64_t>(bucket);
  return std::ldexp(1 + static_cast<double>(place % kBuckets + 1) / kBuckets,
                    static_cast<int>(place / kBuckets));
}

// Calls with each slice's place and the nanoseconds of a time that lie in it.
template <class Take>
void share_out(std::chrono::nanoseconds since, std::chrono::nanoseconds time, const Take& take) {
  auto place = static_cast<std::size_t>(since / kSlice);
  for (; time.count() > 0; ++place) {
    const std::chrono::nanoseconds here = std::min(time, kSlice - since % kSlice);
    take(place, here.count());
    since += here;
    time -= here;
  }
}

}  // namespace

LoadClock::duration LoadStart::time_until(LoadClock::time_point begun) {
  const LoadClock::rep now = begun.time_since_epoch().count();
  LoadClock::rep start = start_.load(std::memory_order_relaxed);
  if (start == kNotYet && start_.compare_exchange_strong(start, now, std::memory_order_relaxed))
    start = now;
  return LoadClock::duration(std::max<LoadClock::rep>(now - start, 0));  // lanes overtake
}

LoadTally::Slice& LoadTally::slice_at(std::size_t place) {
  if (place >= slices_.size()) slices_.resize(place + 1);
  return slices_[place];
}

void LoadTally::add(const BatchRecord& batch) {
  const std::chrono::nanoseconds since = start_.time_until(batch.begun);
  Slice& slice = slice_at(static_cast<std::size_t>(since / kSlice));
  ++slice.batches;
  slice.samples += static_cast<std::int64_t>(batch.samples);
  slice.most_waiting = std::max(slice.most_waiting, static_cast<std::int64_t>(batch.waiting));
  share_out(since, batch.ended - batch.begun,
            [&](std::size_t place, std::int64_t ns) { slice_at(place).busy_ns += ns; });
  if (batch.samples >= sizes_.size()) sizes_.resize(batch.samples + 1);
  ++sizes_[batch.samples];
  const auto together = static_cast<std::int64_t>(batch.issued.size() == 1 ? batch.samples : 1);
  for (const LoadClock::time_point issued : batch.issued)
    latencies_[bucket_of(std::chrono::nanoseconds(batch.ended - issued).count())] += together;
}

void LoadTally::merge(const LoadTally& other) {
  slices_.resize(std::max(slices_.size(), other.slices_.size()));
  for (std::size_t i = 0; i < other.slices_.size(); ++i) {
    Slice& slice = slices_[i];
    const Slice& more = other.slices_[i];
    slice.batches += more.batches;
    slice.samples += more.samples;
    slice.most_waiting = std::max(slice.most_waiting, more.most_waiting);
    slice.busy_ns += more.busy_ns;
  }
  sizes_.resize(std::max(sizes_.size(), other.sizes_.size()));
  std::ranges::transform(other.sizes_, sizes_, sizes_.begin(), std::plus());
  std::ranges::transform(other.latencies_, latencies_, latencies_.begin(), std::plus());
}

void DeviceTally::begin(LoadClock::time_point now) {
  if (batches_++ == 0) since_ = now;
}

void DeviceTally::end(LoadClock::time_point now) {
  last_end_ = std::max(last_end_, now);
  if (--batches_ > 0) return;
  share_out(start_.time_until(since_), last_end_ - since_, [&](std::size_t place, std::int64_t ns) {
    if (place >= busy_ns_.size()) busy_ns_.resize(place + 1);
    busy_ns_[place] += ns;
  });
}

void LoadMeter::write(const std::filesystem::path& folder, int lanes) const {
  LoadStart none;
  LoadTally all(none);
  for (const LoadTally& each : tallies_) all.merge(each);
  std::vector<std::int64_t> device_ns(all.slices_.size());
  for (const DeviceTally& each : devices_) {
    for (std::size_t i = 0; i < std::min(device_ns.size(), each.busy_ns_.size()); ++i)
      device_ns[i] += each.busy_ns_[i];
  }
  const auto devices = static_cast<double>(std::max<std::size_t>(devices_.size(), 1));
  std::string lines = "seconds,batches,samples,most_waiting,busy,device_busy\n";
  const double slice_ns = static_cast<double>(kSlice.count());
  for (std::size_t i = 0; i < all.slices_.size(); ++i) {
    const LoadTally::Slice& slice = all.slices_[i];
    lines += fmt::format("{:.1f},{},{},{},{:.4f},{:.4f}\n",
                         1e-9 * slice_ns * static_cast<double>(i), slice.batches, slice.samples,
                         slice.most_waiting, static_cast<double>(slice.busy_ns) / slice_ns / lanes,
                         static_cast<double>(device_ns[i]) / slice_ns / devices);
  }
  write_text_file(folder / "slices.csv", lines);
  lines = "samples,batches\n";
  for (std::size_t size = 1; size < all.sizes_.size(); ++size) {
    if (all.sizes_[size] > 0) lines += fmt::format("{},{}\n", size, all.sizes_[size]);
  }
  write_text_file(folder / "batches.csv", lines);
  lines = "most_ms,samples\n";
  for (std::size_t bucket = 0; bucket < all.latencies_.size(); ++bucket) {
    if (all.latencies_[bucket] > 0)
      lines += fmt::format("{:.6g},{}\n", 1e-6 * end_of(bucket), all.latencies_[bucket]);
  }
  write_text_file(folder / "latencies.csv", lines);
}

}  // namespace nibble::inline loadgen
