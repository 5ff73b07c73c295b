// SPDX-License-Identifier: Apache-2.0
// A batch norm on a GPU: exact sums of every channel over the batch, the laws of channels
// (laws/batch_norm.h), and numbers rounded by what follows from them.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/device_queue.h"
#include "laws/batch_norm.h"

namespace nibble::cuda {

// Sums of one channel under way; all zeros before the first number.
struct NormTotals {
  std::int64_t first;   // Σ v, on the way back Σ e
  std::int64_t second;  // Σ v², on the way back Σ e·v
  std::uint32_t high;   // the largest v + kNormEnd
  std::uint32_t low;    // the largest kNormEnd - v
};
inline constexpr std::int32_t kNormEnd = 1 << kNormValueBits;

// What is known of one channel: from the way forward for the way back.
struct NormChannel {
  NormSums sums;
  NormStatistics statistics;
  NormLine line;
  NormErrorPlane plane;   // its exponent includes that of the errors
  std::int32_t exponent;  // of the values
};

// What channels share that are summed by the same blocks.
struct NormPlane {
  std::int32_t value_exponent;  // the largest that one of them wants
  std::uint32_t blocks_done;
};

// What all channels share.
struct NormShared {
  std::int32_t error_exponent;
  std::int32_t guess;  // of error_exponent
  // Its distance from the exponent of the errors, by most votes of the last batches.
  std::int32_t distance;
  std::int32_t votes;
};

struct NormPlace {
  NormTotals* totals;
  NormChannel* channels;
  NormPlane* planes;
  NormShared* shared;
};

// Bytes, or numbers of 16 bits where `has_sums`. A warp has octets() times eight channels, up to 32
// of as many rows as its other lanes see.
struct NormRows {
  Rows rows;
  std::uint32_t octet_bits;
  std::uint32_t has_sums;

  NIBBLE_HOST_DEVICE std::uint32_t octets() const { return 1u << octet_bits; }
  // Blocks for so many channels, and how many such planes of blocks there are.
  NIBBLE_HOST_DEVICE std::uint32_t plane_channels() const { return 8u << octet_bits; }
  NIBBLE_HOST_DEVICE std::uint32_t planes() const {
    return (rows.chunks.divisor * kChunk + plane_channels() - 1) >> (3 + octet_bits);
  }
};
NormRows norm_rows(const Rows& rows, bool has_sums);
inline constexpr std::size_t kLeastPlaneChannels = 8;

// The laws of channels on the way forward.
struct NormLinesJob {
  NormPlace norm;
  const std::int8_t* sum_shifts;  // of the product before; null: bytes are normalized
  const std::int32_t* exponent;   // of the input
  const std::int32_t* scale;
  const std::int32_t* shift;
  DevicePoint* point;
  std::int64_t count;     // numbers of a channel in the batch of all ranks
  std::int64_t elements;  // of this rank's tensor
  NormMoments* running;   // of all channels; null: nothing is kept of this batch
  std::int64_t running_share;
};

// And on the way back, with the gradients.
struct NormPlanesJob {
  NormPlace norm;
  const std::int32_t* error_exponent;
  std::int64_t* scale_gradient;
  std::int64_t* shift_gradient;
  DevicePoint* point;  // null: nobody wants the error of the input
  std::int64_t count;
  std::int64_t elements;
};

// Sums of all channels; the blocks that end last apply the laws, where no other rank has a say.
template <class Laws>
struct NormSumsJob {
  NormRows values;
  const std::int8_t* errors;  // null on the way forward
  Laws laws;
  std::uint64_t is_alone;
};

struct NormalizeJob {
  NormRows values;
  NormPlace norm;
  RoundingSite site;
  Rows result;
  std::int32_t* rectified_exponent;  // of a rectifier that follows; null: there is none
};

// First by a guess of the exponent, while the right one is found; then again where the guess was
// wrong (site.is_repeat).
struct PassErrorJob {
  NormRows values;
  Rows errors;
  NormPlace norm;
  RoundingSite site;
  Rows result;
};

// Shifts by which sums of products with these weights (outputs, depth) are held in 16 bits.
struct SumShiftsJob {
  const std::int8_t* mantissas;
  std::int8_t* shifts;
  std::uint32_t outputs;
  std::uint32_t depth;
};

void queue(DeviceQueue& queue, const NormSumsJob<NormLinesJob>& job);
void queue(DeviceQueue& queue, const NormSumsJob<NormPlanesJob>& job);
// The laws alone, of sums of all ranks.
void queue_laws(DeviceQueue& queue, const NormSumsJob<NormLinesJob>& job);
void queue_laws(DeviceQueue& queue, const NormSumsJob<NormPlanesJob>& job);
void queue(DeviceQueue& queue, const NormalizeJob& job);
void queue(DeviceQueue& queue, const PassErrorJob& job);
void queue(DeviceQueue& queue, const SumShiftsJob& job);

}  // namespace nibble::cuda
