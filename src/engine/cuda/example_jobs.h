// SPDX-License-Identifier: Apache-2.0
// Examples on their way into a network, and its answers on their way out, on a GPU.
#pragma once

#include "backend/cuda/device_queue.h"
#include "engine/cuda/device_value.h"

namespace nibble::cuda {

// How numbers of examples lie, dense.
enum class ExampleType : std::uint32_t { i8, u8, i32 };

// Channel k = (dy·count[1] + dx)·channels + c of stored pixel (y, x) is channel c of the example's
// pixel (y, x)·step + origin + (dy, dx), and 0 outside of it. The value of a number is number -
// zero; one beyond low to high is taken for the nearest that is not, and told.
struct LoadJob {
  const void* from;
  std::uint32_t* is_wrong;  // set to 1; memory of the host
  DeviceValue to;
  ChunkOrder order;
  ExampleType type;
  std::int32_t zero;
  std::int32_t low;
  std::int32_t high;
  std::int32_t extent[2];  // of the example
  std::int32_t step[2];
  std::int32_t origin[2];
  Divisor channels;  // of the example
  Divisor count;     // by count[1]
};
void queue(DeviceQueue& queue, const LoadJob& job);

struct StoreJob {
  DeviceValue from;
  void* to;
  ChunkOrder order;
  ExampleType type;
  std::uint32_t unused;
};
void queue(DeviceQueue& queue, const StoreJob& job);

}  // namespace nibble::cuda
