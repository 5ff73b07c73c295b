// SPDX-License-Identifier: Apache-2.0
// What is done without rounding: rectifiers, dropout, boxes that are moved, largest of windows.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/device_queue.h"
#include "backend/cuda/training_kernels.h"

namespace nibble::cuda {

struct RectifyJob {
  Rows from;
  Rows to;
  const std::int8_t* passed;  // null: forward
  const std::int32_t* passed_exponent;
  std::uint64_t has_cut;
};

struct DropJob {
  Rows from;
  Rows to;
  const DeviceStep* step;
  std::uint32_t stream;
  std::int32_t halvings;
};

struct CopyJob {
  Rows from;
  Rows to;
};

// Of (row, column, channel).
struct BoxJob {
  Rows from;
  Rows to;
  std::int32_t begin[3];
  Divisor step[3];
  std::int32_t small[3];  // sizes of the smaller one
  Divisor width;          // of the result
  std::uint32_t from_width;
  std::uint32_t to_small;
};

struct LargestJob {
  Rows from;
  Rows to;
  std::uint8_t* marks;
  TapTable table;
  std::uint32_t is_forward;
  std::uint32_t is_rectified;  // PoolCase
  // A rectifier of errors that follows, as RoundedProduct has it; where it passes all of them,
  // `passed` is null.
  std::int32_t* rectified_exponent;
  const std::int8_t* passed;
  TurnJob turned;  // the result once more; `to` null: it is not wanted
  std::uint32_t is_of_two_by_two;
  Divisor line_windows;  // by the windows of a line
};

// All numbers that meet the taps of a window, side by side in a row: channel tap·in + c, in <= 4.
struct PatchJob {
  Rows from;
  Rows to;
  TapTable table;
  Divisor in;
  std::uint32_t unused;
};

// Numbers of the host that lie without filling: mantissas, or bytes by tables of 256 a channel.
struct SpreadJob {
  const std::uint8_t* from;
  const std::int8_t* tables;          // null: mantissas
  const std::int32_t* sent_exponent;  // null: the one below
  Rows to;
  Divisor table_channels;
  std::int32_t exponent;
};

// The way back: numbers without filling, and where they have one, their exponent.
struct PackJob {
  Rows from;
  std::int8_t* to;
  std::int32_t* exponent;
};

// Chunks as they are, and the sum of up to two exponents and a number.
struct PackChunksJob {
  const std::int8_t* from;
  std::int8_t* to;
  const std::int32_t* exponents[2];  // null: none
  std::int32_t* exponent;
  std::uint32_t chunks;
  std::int32_t added;
};

// Which images of a data set make a batch: written before each step.
struct SelectedImages {
  std::uint64_t seed;
  std::uint32_t epoch;
  std::uint32_t unused;
  // Indices follow, 32 bits each.
};

struct GatherJob {
  const std::uint8_t* images;  // (n, h, w, c)
  const SelectedImages* selected;
  const std::int8_t* tables;  // 256 a channel
  Rows to;
  Divisor line;  // by width · channels
  Divisor channels;
  std::int32_t height;
  std::int32_t width;
  std::int32_t padding;  // AugmentOptions
  std::int32_t cutout;
  std::int32_t has_flip;
  std::int32_t fill;
  std::int32_t exponent;
  std::int32_t unused;
};

void queue(DeviceQueue& queue, const RectifyJob& job);
void queue(DeviceQueue& queue, const DropJob& job);
void queue(DeviceQueue& queue, const CopyJob& job);
void queue(DeviceQueue& queue, const BoxJob& job);
void queue(DeviceQueue& queue, const LargestJob& job);
void queue(DeviceQueue& queue, const PatchJob& job);
void queue(DeviceQueue& queue, const SpreadJob& job);
void queue(DeviceQueue& queue, const PackJob& job);
void queue(DeviceQueue& queue, const PackChunksJob& job);
void queue(DeviceQueue& queue, const GatherJob& job);

}  // namespace nibble::cuda
