// SPDX-License-Identifier: Apache-2.0
// Windows of pictures on a GPU, those that no tensor core takes: groups of channels, sums beyond 32
// bits, means, largest numbers.
#pragma once

#include "backend/cuda/device_queue.h"
#include "backend/cuda/sum_finish.h"
#include "engine/cuda/device_value.h"

namespace nibble::cuda {

struct DeviceWindow {
  std::int32_t kernel[2];
  std::int32_t stride[2];
  std::int32_t padding[2];
  std::int32_t dilation[2];
};

// A convolution of one channel to one, or of groups of channels: weights (four taps, channel, tap
// of the four), channels filled up as the input's, or (out, tap, depth), depths filled up to a
// multiple of 4. Sums are those of bytes, 0 - base outside of the picture.
struct GroupedJob {
  DeviceValue in;
  const std::int8_t* weights;
  DeviceWindow window;
  ChunkOrder order;  // of the result
  std::uint32_t depth;
  Divisor outputs;  // by those of a group
  SumFinish finish;
};
void queue_depthwise(DeviceQueue& queue, const GroupedJob& job);
void queue_grouped(DeviceQueue& queue, const GroupedJob& job);

// Ends sums of products that several blocks have added up, and leaves zeros behind.
struct SharedSumsJob {
  std::int32_t* sums;  // as many a row as the result has
  ChunkOrder order;
  SumFinish finish;
};
void queue(DeviceQueue& queue, const SharedSumsJob& job);

// A convolution in 64 bits by its definition: weights (out, tap, depth) as they are.
struct WideProductJob {
  DeviceValue in;
  const std::int8_t* weights;
  const std::int64_t* bias;  // one an output
  DeviceWindow window;
  ChunkOrder order;
  std::uint32_t channels;  // of the result
  std::uint32_t depth;
  Divisor outputs;
  std::uint32_t unused;
  SumFinish finish;
};
void queue(DeviceQueue& queue, const WideProductJob& job);

// Sums of windows, each times the factor of its place.
struct MeanJob {
  DeviceValue in;
  const std::int32_t* factors;  // by pixel of the result
  DeviceWindow window;
  ChunkOrder order;
  Divisor pixels;
  std::uint32_t unused;
  SumFinish finish;
};
void queue(DeviceQueue& queue, const MeanJob& job);

// `out` is stored as `in` is.
struct MaximumJob {
  DeviceValue in;
  DeviceValue out;
  DeviceWindow window;
  ChunkOrder order;
};
void queue(DeviceQueue& queue, const MaximumJob& job);

}  // namespace nibble::cuda
