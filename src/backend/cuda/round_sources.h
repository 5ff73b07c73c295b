// SPDX-License-Identifier: Apache-2.0
// Sums that are rounded number by number, each made from few others.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/device_queue.h"

namespace nibble::cuda {

inline constexpr std::uint32_t kMostOperands = 32;

struct Operand {
  const std::int8_t* data;
  const std::int32_t* exponent;
  std::uint32_t begin;  // its first channel in a concatenation
  std::uint32_t pitch;
};

struct AddedRows {
  Operand operands[kMostOperands];
  std::uint64_t count;
};

struct JoinedRows {  // along the channels
  AddedRows of;
};

struct BiasedRows {
  Operand rows;
  const std::int8_t* bias;
  const std::int32_t* bias_exponent;
};

// Of windows; factors[window] is that of a mean. The windows are the pixels of the result on the
// way forward and those of the source on the way back.
struct MeanRows {
  Operand source;
  TapTable table;
  const std::int32_t* factors;
  std::uint32_t source_pixels;
  std::uint32_t is_forward;
};

// Errors that come back to where the largest of their windows was.
struct ReturnedRows {
  Operand source;
  const std::uint8_t* marks;
  TapTable table;
  std::uint64_t source_pixels;
};

struct SquaredRows {
  Operand answers;
  const std::int32_t* targets;
};

// Sums of products that lie in memory.
struct SummedRows {
  const void* sums;  // (row, column), `pitch` columns
  const std::int32_t* input_exponent;
  AddedBias bias;
  std::uint32_t pitch;
  std::uint32_t is_wide;
};

// Sums of a product with groups, made on the spot, without tiles.
struct GroupedRows {
  Operand source;
  const std::int8_t* weight;  // (out, tap, in)
  AddedBias bias;
  TapTable table;
  Divisor group;  // channels of the result in a group
  std::uint32_t source_pixels;
  std::uint32_t in;       // of the weight
  std::uint32_t sources;  // channels of the source in a group
  std::uint32_t is_forward;
  std::uint32_t unused;
};

template <class Source>
struct RoundEach {
  Source source;
  RoundingSite site;
  Rows result;
  // A rectifier that follows, as of a RoundedProduct.
  std::int32_t* rectified_exponent = nullptr;
  const std::int8_t* passed = nullptr;
};

void queue(DeviceQueue& queue, const RoundEach<AddedRows>& job);
void queue(DeviceQueue& queue, const RoundEach<JoinedRows>& job);
void queue(DeviceQueue& queue, const RoundEach<BiasedRows>& job);
void queue(DeviceQueue& queue, const RoundEach<MeanRows>& job);
void queue(DeviceQueue& queue, const RoundEach<ReturnedRows>& job);
void queue(DeviceQueue& queue, const RoundEach<SquaredRows>& job);
void queue(DeviceQueue& queue, const RoundEach<SummedRows>& job);
void queue(DeviceQueue& queue, const RoundEach<GroupedRows>& job);

// The same for sums that are held in 16 bits.
template <class Source>
struct NormEach {
  Source source;
  const std::int8_t* shifts;  // by channel, filled up to 16
  Rows result;
};
void queue(DeviceQueue& queue, const NormEach<SummedRows>& job);
void queue(DeviceQueue& queue, const NormEach<GroupedRows>& job);

// And for a frozen batch norm.
template <class Source>
struct FrozenEach {
  Source source;
  const std::int32_t* bias;  // by channel
  const std::int32_t* multiplier;
  Rows result;
  std::int32_t shift;
  std::int32_t exponent;
};
void queue(DeviceQueue& queue, const FrozenEach<SummedRows>& job);
void queue(DeviceQueue& queue, const FrozenEach<GroupedRows>& job);
void queue(DeviceQueue& queue, const FrozenEach<AddedRows>& job);

// Where ranks met: decides the shift from the largest sum of all.
struct Decision {
  DevicePoint* point;
  const DeviceStep* step;
  std::int64_t elements;
  std::int32_t* exponent;
  std::uint64_t has_second;
};
void queue(DeviceQueue& queue, const Decision& decision);

}  // namespace nibble::cuda
