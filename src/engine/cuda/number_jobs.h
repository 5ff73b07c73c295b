// SPDX-License-Identifier: Apache-2.0
// What works on numbers where they are, and what moves them, on a GPU.
#pragma once

#include "backend/cuda/device_queue.h"
#include "engine/cuda/device_value.h"

namespace nibble::cuda {

enum class NumberOp : std::uint32_t { bias, relu, rescale, table };

// y = x + numbers[c]; max(x, 0); clamp(R(x·numbers[c], shift), low, high); numbers[x - low].
struct NumberJob {
  DeviceValue in;
  DeviceValue out;
  const std::int32_t* numbers;  // by channel, filled up to a multiple of 16; a table: all entries
  ChunkOrder order;
  NumberOp op;
  std::int32_t shift;
  std::int32_t low;
  std::int32_t high;
  std::uint32_t is_wide;  // of a rescale: products need 64 bits
  std::uint32_t unused;
};
void queue(DeviceQueue& queue, const NumberJob& job);

// The sum of several values fits 32 bits, that of some of them may wrap.
template <int kMost>
struct AddJob {
  DeviceValue in[kMost];
  DeviceValue out;
  ChunkOrder order;
  std::uint32_t count;
  std::uint32_t unused;
};
inline constexpr int kFewAddends = 2;
inline constexpr int kMostAddends = 64;
void queue(DeviceQueue& queue, const AddJob<kFewAddends>& job);
void queue(DeviceQueue& queue, const AddJob<kMostAddends>& job);

// clamp(R(x·multiplier, shift), low, high)
struct ScalarRescale {
  std::int32_t multiplier;
  std::int32_t shift;
  std::int32_t low;
  std::int32_t high;
};
// The rescaled sum of two values of bytes, each rescaled by itself; it fits 32 bits.
struct JoinedSumJob {
  DeviceValue in[2];
  DeviceValue out;
  ChunkOrder order;
  ScalarRescale terms[2];
  ScalarRescale result;
};
void queue(DeviceQueue& queue, const JoinedSumJob& job);

// Channels first_channel to end_channel of every pixel of `out`: number (y, x, first_channel + c)
// is that of (begin + (y, x, c)·step), and 0 outside of `in`. Others stay as they are.
struct MoveJob {
  DeviceValue in;
  DeviceValue out;
  ChunkOrder order;  // of `out`
  std::int32_t begin[3];
  std::int32_t step[3];
  std::uint32_t first_channel;
  std::uint32_t end_channel;
};
void queue(DeviceQueue& queue, const MoveJob& job);

// All numbers of a picture in one vector.
struct FlattenJob {
  DeviceValue in;
  DeviceValue out;
  ChunkOrder order;
  Divisor channels;  // of `in`
  Divisor width;
};
void queue(DeviceQueue& queue, const FlattenJob& job);

// Of one vector an image: the index of its largest number, or t_i = table[min(max - x_i, 255)] and
// ⌊(2·high·t_i + Σ t) / (2·Σ t)⌋.
struct VectorJob {
  DeviceValue in;
  DeviceValue out;
  const std::int64_t* table;  // null: the index
  std::int64_t high;
  std::uint32_t images;
  std::int32_t bits;  // of `high`, which no result exceeds
};
void queue(DeviceQueue& queue, const VectorJob& job);

// Zeros for the pixel behind each picture.
struct BorderJob {
  DeviceValue value;
  std::uint32_t images;
  std::uint32_t unused;
};
void queue(DeviceQueue& queue, const BorderJob& job);

}  // namespace nibble::cuda
