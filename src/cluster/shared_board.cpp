// SPDX-License-Identifier: Apache-2.0
// Ranks meet at a counter in the shared memory; what was written before a meeting is read after it.
#include "cluster/shared_board.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "core/spin.h"

namespace nibble::inline cluster {
namespace {

constexpr std::size_t kLine = 64;                       // of the cache
constexpr std::size_t kBucket = std::size_t{4} << 20U;  // bytes that a rank writes before it waits
constexpr std::size_t kFewBytes = 1024;                 // that all ranks read by themselves
constexpr int kSpins = 2000;  // some 100 µs of looks before the core is given to others

using Arrivals = std::atomic_ref<std::uint32_t>;
static_assert(Arrivals::is_always_lock_free, "processes share no lock");

template <class Number, class Combine>
void combine(std::byte* own, const std::byte* theirs, std::size_t bytes, const Combine& both) {
  auto* to = reinterpret_cast<Number*>(own);
  const auto* from = reinterpret_cast<const Number*>(theirs);
  for (std::size_t i = 0; i < bytes / sizeof(Number); ++i) to[i] = both(to[i], from[i]);
}

}  // namespace

// Arrivals; two places a rank for few numbers; the result; a bucket a rank.
std::size_t SharedBoard::bytes_for(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return kLine + 2 * count * kFewBytes + kBucket + count * kBucket;
}

SharedBoard::SharedBoard(std::byte* memory, int rank, int ranks)
    : memory_(memory), rank_(rank), ranks_(ranks) {}

// Of the latest meeting, in turns: nobody writes a place again before all have left the one after
// it.
std::byte* SharedBoard::few_entry(int rank) const {
  const auto place = static_cast<std::size_t>(rank + ranks_ * static_cast<int>(meetings_ % 2));
  return memory_ + kLine + place * kFewBytes;
}
std::byte* SharedBoard::result() const {
  return memory_ + kLine + 2 * static_cast<std::size_t>(ranks_) * kFewBytes;
}
std::byte* SharedBoard::bucket(int rank) const {
  return result() + kBucket + static_cast<std::size_t>(rank) * kBucket;
}

void SharedBoard::meet() {
  ++meetings_;
  arrive();
  await_all();
}

void SharedBoard::arrive() {
  const Arrivals arrivals(*reinterpret_cast<std::uint32_t*>(memory_));
  arrivals.fetch_add(1, std::memory_order_acq_rel);
}

void SharedBoard::await_all() const {
  const Arrivals arrivals(*reinterpret_cast<std::uint32_t*>(memory_));
  const std::uint32_t all = meetings_ * static_cast<std::uint32_t>(ranks_);
  // Counters wrap around: what counts is the distance.
  for (int spins = 0; static_cast<std::int32_t>(arrivals.load(std::memory_order_acquire) - all) < 0;
       ++spins) {
    if (spins < kSpins) {
      relax();
    } else {
      sched_yield();
    }
  }
}

// Shares end with lines of the bucket: no two ranks write the same one.
std::size_t SharedBoard::border(const Piece& piece, int rank) const {
  const std::size_t lines = (piece.bytes + kLine - 1) / kLine;
  const std::size_t line =
      lines * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_);
  return std::min(line * kLine, piece.bytes);
}

// The numbers whose sums other ranks make.
void SharedBoard::copy_others(const Piece& piece, const std::byte* from, std::byte* to) const {
  const std::size_t begin = border(piece, rank_);
  const std::size_t end = border(piece, rank_ + 1);
  std::copy_n(from, begin, to);
  std::copy_n(from + end, piece.bytes - end, to + end);
}

template <class Number>
void SharedBoard::start(std::span<Number> values, Join join) {
  while (!values.empty()) {
    if (used_ == kBucket) finish();
    const std::size_t count = std::min(values.size(), (kBucket - used_) / sizeof(Number));
    const Piece piece{std::as_writable_bytes(values).data(), used_, count * sizeof(Number), join};
    copy_others(piece, piece.values, bucket(rank_) + piece.offset);
    pieces_.push_back(piece);
    used_ += (piece.bytes + kLine - 1) / kLine * kLine;
    values = values.subspan(count);
  }
}

// Every rank joins its share, of which nobody else sees more than the result: two meetings. Who
// fills its next bucket has seen that all have added this one up; who writes the next result, that
// all have read this one.
void SharedBoard::finish() {
  if (pieces_.empty()) return;  // at every rank
  meet();
  for (const Piece& piece : pieces_) add_share(piece);
  meet();
  for (const Piece& piece : pieces_) copy_others(piece, result() + piece.offset, piece.values);
  pieces_.clear();
  used_ = 0;
}

void SharedBoard::join_with(Join join, std::byte* own, const std::byte* theirs, std::size_t bytes) {
  switch (join) {
    case Join::sum32:
      return combine<std::int32_t>(own, theirs, bytes, std::plus<>());
    case Join::sum64:
      return combine<std::int64_t>(own, theirs, bytes, std::plus<>());
    case Join::max64:
      return combine<std::int64_t>(own, theirs, bytes,
                                   [](auto a, auto b) { return std::max(a, b); });
  }
}

void SharedBoard::add_share(const Piece& piece) const {
  const std::size_t begin = border(piece, rank_);
  const std::size_t bytes = border(piece, rank_ + 1) - begin;
  std::byte* own = piece.values + begin;
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    const std::byte* theirs = bucket(r) + piece.offset + begin;
    join_with(piece.join, own, theirs, bytes);
  }
  std::copy_n(own, bytes, result() + piece.offset + begin);
}

// Every rank joins all: one meeting.
void SharedBoard::start_few(std::span<std::byte> values) {
  if (values.empty()) return;  // at every rank
  ++meetings_;
  std::ranges::copy(values, few_entry(rank_));
  arrive();
}

void SharedBoard::finish_few(std::span<std::byte> values, Join join) {
  if (values.empty()) return;
  await_all();
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) join_with(join, values.data(), few_entry(r), values.size());
  }
}

template <class Number>
void SharedBoard::join(std::span<Number> values, Join join) {
  if (values.size_bytes() <= kFewBytes) {
    start_few(std::as_writable_bytes(values));
    return finish_few(std::as_writable_bytes(values), join);
  }
  start(values, join);
  finish();
}

void SharedBoard::sum(std::span<std::int32_t> values) {
  join(values, Join::sum32);
}
void SharedBoard::sum(std::span<std::int64_t> values) {
  join(values, Join::sum64);
}
void SharedBoard::max(std::span<std::int64_t> values) {
  join(values, Join::max64);
}
void SharedBoard::start_max(std::span<std::int64_t> values) {
  if (values.size_bytes() > kFewBytes) return max(values);
  start_few(std::as_writable_bytes(values));
  maxima_ = values;
}
void SharedBoard::finish_max() {
  finish_few(std::as_writable_bytes(maxima_), Join::max64);
  maxima_ = {};
}
void SharedBoard::start_sum(std::span<std::int32_t> values) {
  start(values, Join::sum32);
}
void SharedBoard::start_sum(std::span<std::int64_t> values) {
  start(values, Join::sum64);
}

// Through the result: whoever writes it next has seen at a meeting that all have read it.
void SharedBoard::broadcast(std::span<std::byte> bytes, int root) {
  finish();
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kBucket));
    if (rank_ == root) std::ranges::copy(piece, result());
    meet();
    if (rank_ != root) std::copy_n(result(), piece.size(), piece.data());
    meet();
    bytes = bytes.subspan(piece.size());
  }
}

}  // namespace nibble::inline cluster
