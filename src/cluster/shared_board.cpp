// SPDX-License-Identifier: Apache-2.0
// Ranks meet at a counter in the shared memory; what was written before a meeting is read after it.
#include "cluster/shared_board.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/spin.h"

namespace nibble::inline cluster {
namespace {

constexpr std::size_t kLine = 64;                          // of the cache
constexpr std::size_t kBoardPiece = std::size_t{1} << 20;  // bytes a rank writes at a time
constexpr std::size_t kFewBytes = 1024;                    // that all ranks read by themselves
constexpr int kSpins = 2000;  // some 100 µs of looks before the core is given to others

using Arrivals = std::atomic_ref<std::uint32_t>;
static_assert(Arrivals::is_always_lock_free, "processes share no lock");

}  // namespace

// Arrivals; two places a rank for few numbers; the result; a piece a rank.
std::size_t SharedBoard::bytes_for(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return kLine + 2 * count * kFewBytes + kBoardPiece + count * kBoardPiece;
}

SharedBoard::SharedBoard(std::byte* memory, int rank, int ranks)
    : memory_(memory), rank_(rank), ranks_(ranks) {}

// In turns: nobody writes a place again before all have left the meeting after the next.
std::byte* SharedBoard::few_entry(int rank) const {
  const auto place = static_cast<std::size_t>(rank + ranks_ * static_cast<int>(meetings_ % 2));
  return memory_ + kLine + place * kFewBytes;
}
std::byte* SharedBoard::result() const {
  return memory_ + kLine + 2 * static_cast<std::size_t>(ranks_) * kFewBytes;
}
std::byte* SharedBoard::entry(int rank) const {
  return result() + kBoardPiece + static_cast<std::size_t>(rank) * kBoardPiece;
}

void SharedBoard::meet() {
  const Arrivals arrivals(*reinterpret_cast<std::uint32_t*>(memory_));
  const std::uint32_t all = ++meetings_ * static_cast<std::uint32_t>(ranks_);
  arrivals.fetch_add(1, std::memory_order_acq_rel);
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

template <class Number, class Join>
void SharedBoard::reduce(std::span<Number> values, const Join& join) {
  if (values.empty()) return;  // at every rank
  if (values.size_bytes() <= kFewBytes) return reduce_few(values, join);
  constexpr std::size_t kMost = kBoardPiece / sizeof(Number);
  for (std::size_t first = 0; first < values.size(); first += kMost)
    reduce_piece(values.subspan(first, std::min(kMost, values.size() - first)), join);
}

// Every rank joins all: one meeting.
template <class Number, class Join>
void SharedBoard::reduce_few(std::span<Number> values, const Join& join) {
  std::memcpy(few_entry(rank_), values.data(), values.size_bytes());
  const std::byte* first = few_entry(0);
  meet();
  for (int r = 0; r < ranks_; ++r) {
    const auto* theirs =
        reinterpret_cast<const Number*>(first + static_cast<std::size_t>(r) * kFewBytes);
    if (r == rank_) continue;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = join(values[i], theirs[i]);
  }
}

// Every rank joins its share, of which nobody else sees more than the result: two meetings. Who
// writes its next piece has seen that all have added this one up; who writes the next result, that
// all have read this one.
template <class Number, class Join>
void SharedBoard::reduce_piece(std::span<Number> values, const Join& join) {
  constexpr std::size_t kPerLine = kLine / sizeof(Number);
  const auto border = [&](int rank) {  // shares end with lines: no two ranks write the same one
    const std::size_t lines = (values.size() + kPerLine - 1) / kPerLine;
    const std::size_t line =
        lines * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_);
    return std::min(line * kPerLine, values.size());
  };
  const std::size_t begin = border(rank_);
  const std::size_t end = border(rank_ + 1);
  const auto copy_others = [&](const Number* from, Number* to) {
    std::copy_n(from, begin, to);
    std::copy_n(from + end, values.size() - end, to + end);
  };
  copy_others(values.data(), reinterpret_cast<Number*>(entry(rank_)));
  meet();
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    const auto* theirs = reinterpret_cast<const Number*>(entry(r));
    for (std::size_t i = begin; i < end; ++i) values[i] = join(values[i], theirs[i]);
  }
  auto* joined = reinterpret_cast<Number*>(result());
  std::copy_n(values.data() + begin, end - begin, joined + begin);
  meet();
  copy_others(joined, values.data());
}

void SharedBoard::sum(std::span<std::int32_t> values) {
  reduce(values, [](std::int32_t a, std::int32_t b) { return a + b; });
}
void SharedBoard::sum(std::span<std::int64_t> values) {
  reduce(values, [](std::int64_t a, std::int64_t b) { return a + b; });
}
void SharedBoard::max(std::span<std::int64_t> values) {
  reduce(values, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}

}  // namespace nibble::inline cluster
