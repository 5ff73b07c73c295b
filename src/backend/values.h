// SPDX-License-Identifier: Apache-2.0
// What backends compute on: values whose memory, layout and exponent are the backend's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/picture.h"
#include "laws/round_shift.h"

namespace nibble::inline backend {

enum class ValueStorage : std::uint8_t { s8, u8, u4, s16, s32, s64 };

// Bytes on loan from a backend's pool, in a layout that it alone knows.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;
};

// Copies hold the same bytes; they go back to the pool with the last of them.
class MemoryHandle {
 public:
  MemoryHandle() = default;
  explicit MemoryHandle(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

  bool is_empty() const { return memory_ == nullptr; }
  void release() { memory_.reset(); }
  Memory* get() const { return memory_.get(); }
  bool operator==(const MemoryHandle&) const = default;

 private:
  std::shared_ptr<Memory> memory_;
};

// Where a backend keeps the exponent of a tensor: on a GPU no host knows it within a step.
struct Slot {
  std::int32_t place = -1;
};

// A batch: value = mantissa · 2^exponent.
struct Values {
  Picture picture = {};
  std::int64_t images = 0;
  MemoryHandle memory = {};
  Slot exponent = {};
  ValueStorage storage = ValueStorage::s8;
};

// Where sums become int8 again: the shift follows from the largest sum of the whole batch. A handle
// of what the backend remembers of it from batch to batch.
struct ShiftPoint {
  std::int32_t place = -1;
};

struct ShiftPointCase {
  std::string name;  // NODE.value, NODE.error, …
  ShiftRounding rounding = ShiftRounding::nearest;
  std::uint32_t stream = 0;  // of random draws
};

// What a shift point remembers; part of a checkpoint, for under the delayed rule it decides
// numbers. `other` and `misses` only tell how well a backend guessed.
struct PointState {
  static constexpr int kUnknown = -1;

  int shift = kUnknown;
  int other = kUnknown;        // the last one before it that was another
  std::int64_t saturated = 0;  // results cut to ±127 in the last batch
  std::int64_t elements = 0;   // of the last batch
  std::int64_t misses = 0;     // guesses that were wrong, of all batches
  std::int64_t batches = 0;
};

// All that a backend keeps in slots, on the host.
struct SlotTable {
  std::vector<int> exponents;      // by Slot
  std::vector<PointState> points;  // by ShiftPoint

  int exponent(const Values& values) const {
    return exponents[static_cast<std::size_t>(values.exponent.place)];
  }
  const PointState& point(ShiftPoint point) const {
    return points[static_cast<std::size_t>(point.place)];
  }
};

}  // namespace nibble::inline backend
