// SPDX-License-Identifier: Apache-2.0
// Counts batches and writes three tables.
#include "loadgen/load_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>

#include "core/atomic_file.h"

namespace nibble::inline loadgen {
namespace {

constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(100);
constexpr std::int64_t kBuckets = 8;  // of a doubling
constexpr std::size_t kMostBuckets = 64 * kBuckets;

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

void write_lines(const std::filesystem::path& path, const std::string& lines) {
  AtomicFile file(path);
  file.stream() << lines;
  file.commit();
}

}  // namespace

LoadMeter::LoadMeter() : latencies_(kMostBuckets) {}

void LoadMeter::add(const BatchRecord& batch) {
  const std::lock_guard lock(mutex_);
  if (slices_.empty()) start_ = batch.begun;
  const auto since = std::max(batch.begun - start_, LoadClock::duration(0));  // lanes overtake
  const auto place = static_cast<std::size_t>(since / kSlice);
  if (place >= slices_.size()) slices_.resize(place + 1);
  Slice& slice = slices_[place];
  ++slice.batches;
  slice.samples += static_cast<std::int64_t>(batch.samples);
  slice.most_waiting = std::max(slice.most_waiting, static_cast<std::int64_t>(batch.waiting));
  slice.busy_ns += std::chrono::nanoseconds(batch.ended - batch.begun).count();
  if (batch.samples >= sizes_.size()) sizes_.resize(batch.samples + 1);
  ++sizes_[batch.samples];
  latencies_[bucket_of(std::chrono::nanoseconds(batch.ended - batch.issued).count())] +=
      static_cast<std::int64_t>(batch.samples);
}

void LoadMeter::write(const std::filesystem::path& folder, int lanes) const {
  const std::lock_guard lock(mutex_);
  std::string lines = "seconds,batches,samples,most_waiting,busy\n";
  const double slice_ns = static_cast<double>(kSlice.count());
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const Slice& slice = slices_[i];
    lines += fmt::format("{:.1f},{},{},{},{:.4f}\n", 1e-9 * slice_ns * static_cast<double>(i),
                         slice.batches, slice.samples, slice.most_waiting,
                         static_cast<double>(slice.busy_ns) / slice_ns / lanes);
  }
  write_lines(folder / "slices.csv", lines);
  lines = "samples,batches\n";
  for (std::size_t size = 1; size < sizes_.size(); ++size) {
    if (sizes_[size] > 0) lines += fmt::format("{},{}\n", size, sizes_[size]);
  }
  write_lines(folder / "batches.csv", lines);
  lines = "most_ms,samples\n";
  for (std::size_t bucket = 0; bucket < latencies_.size(); ++bucket) {
    if (latencies_[bucket] > 0)
      lines += fmt::format("{:.6g},{}\n", 1e-6 * end_of(bucket), latencies_[bucket]);
  }
  write_lines(folder / "latencies.csv", lines);
}

}  // namespace nibble::inline loadgen
