// SPDX-License-Identifier: Apache-2.0
// The error of the answers, gradients that are no matrix products, updates, and copies of weights
// and values in the order in which products read them.
#pragma once

#include <span>

#include "backend/cases.h"
#include "backend/cuda/device_params.h"
#include "backend/cuda/device_queue.h"

namespace nibble::cuda {

struct EntropyJob {
  Rows answers;
  Rows error;
  const std::int32_t* labels;
  const std::uint16_t* powers;  // power_table()
  const DeviceStep* step;
  std::int64_t smoothing;
  std::uint32_t stream;
  std::uint32_t is_whole;  // CrossEntropyForm::whole_octaves
};

struct ZeroJob {
  void* data;
  std::uint64_t words;  // of 4 bytes
};

// Several of them at once.
struct ZeroListJob {
  const ZeroJob* jobs;
  std::uint64_t count;
};

// totals[i] += mantissas[i]
struct TotalsJob {
  const std::int8_t* mantissas;
  std::int32_t* totals;
  std::uint64_t elements;
};

// Adds the errors of every channel to 64-bit sums.
struct BiasJob {
  Rows error;
  std::int64_t* sums;
};

// Of a product with groups, without tiles: sums[(out, tap, in)].
struct GroupedGradientJob {
  Rows input;
  Rows error;
  void* sums;
  TapTable table;
  Divisor in;  // channels of a group
  Divisor taps;
  Divisor outs;  // results of a group
  std::uint32_t elements;
  std::uint64_t is_wide;
};

// Numbers of one channel and pixel side by side, a line of images each:
//   to[(channel · channel_step + pixel · pixel_step) · pitch + image].
struct TurnJob {
  Rows from;
  std::int8_t* to;
  std::uint32_t images;
  std::uint32_t pitch;  // images, filled up with zeros to a multiple of 16
  std::uint32_t channel_step;
  std::uint32_t pixel_step;
  // Filled in by cut().
  Divisor channel_tiles;
  Divisor pixel_blocks;
};
inline constexpr std::uint32_t kTurnedImages = 64;
inline constexpr std::uint32_t kTurnedChannels = 64;
inline constexpr std::uint32_t kTurnedPixels = 4;
TurnJob cut(TurnJob job);
std::uint32_t blocks_of(const TurnJob& job);  // that is cut

// A weight (out, tap, in) with `in` filled up to a multiple of 16, or with groups.
struct FilledUp {
  std::int8_t* to;  // null where it is one already
  Divisor in;
  std::uint32_t pitch;
  const GroupedFilters* grouped;  // on the GPU; null: there are no groups
};

struct FillUpJob {
  const std::int8_t* mantissas;
  FilledUp filled;
  std::uint64_t elements;
};

// How sums lie: as planes of 32 bits that add up, each from a multiple of four on; 0: in 64 bits.
struct SumForm {
  std::uint32_t planes = 0;

  static std::uint64_t plane_words(std::uint64_t size) { return (size + 3) / 4 * 4; }
  std::uint64_t words(std::uint64_t size) const {
    return planes == 0 ? 2 * size : planes * plane_words(size);
  }
};

// Of sums of products: the exponents of both factors, and what comes on top.
struct SumExponent {
  const std::int32_t* factors[2];  // null: none
  std::int64_t added;
};

struct UpdateJob {
  const void* sums;
  SumExponent sum_exponent;
  std::int8_t* mantissas;
  std::int32_t* exponent;
  std::int32_t* fine;
  std::int32_t* momentum;
  DeviceUpdate* record;
  const DeviceStep* step;
  FilledUp filled;
  std::uint32_t elements;
  std::uint32_t stream;
  ShiftRounding rounding;
  NormPart norm;
  bool is_bias;
  std::uint8_t unused;
  std::uint32_t planes;  // of sums: SumForm
};

void queue(DeviceQueue& queue, const EntropyJob& job);
void queue(DeviceQueue& queue, const ZeroJob& job);
void queue(DeviceQueue& queue, const ZeroListJob& job);
void queue(DeviceQueue& queue, const TotalsJob& job);
void queue(DeviceQueue& queue, const BiasJob& job);
void queue(DeviceQueue& queue, const GroupedGradientJob& job);
void queue(DeviceQueue& queue, std::span<const TurnJob> jobs);
void queue(DeviceQueue& queue, const FillUpJob& job);
void queue(DeviceQueue& queue, std::span<const UpdateJob> jobs, const ShiftUpdate& rule);
void queue(DeviceQueue& queue, std::span<const UpdateJob> jobs, const SgdUpdate& rule);

}  // namespace nibble::cuda
