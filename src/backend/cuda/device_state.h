// SPDX-License-Identifier: Apache-2.0
// What a GPU remembers of a step: read by kernels, so that a recorded step can be replayed.
#pragma once

#include <cstdint>

#include "backend/values.h"
#include "nibble/backend/rules.h"

namespace nibble::cuda {

// All that changes from step to step.
struct DeviceStep {
  std::uint64_t seed;
  std::int64_t first_image;
  std::uint32_t step;
  ShiftRule rule;
  ShiftUpdate shift;  // one of the two counts
  SgdUpdate sgd;
};

// What became of a guess.
enum class Guess : std::int32_t { right, wrong, second_right };

// A shift point: what it remembers from batch to batch, and the pass under way.
struct DevicePoint {
  PointState state;
  std::int64_t changed;            // the batch in which the shift last became another
  std::int32_t favourite;          // the shift of most batches lately
  std::int32_t votes;              // for it
  std::uint64_t largest;           // of all sums of this batch
  std::uint64_t saturated;         // results of the guess that were cut
  std::uint64_t second_saturated;  // and of the second one
  std::int32_t sum_exponent;       // of the sums
  std::int32_t shift;              // that counts in this batch
  std::uint32_t blocks_done;       // of the guess
  Guess guess;
};

// An update: its outcome, and the work under way.
struct DeviceUpdate {
  std::int64_t moved;     // of the last update
  std::uint64_t largest;  // of the gradient
  std::uint64_t decayed;  // of the gradient with decay
  std::uint64_t moved_so_far;
  std::int32_t shift;  // of the last update
  std::uint32_t blocks_done;
  std::int32_t halvings;  // of the numbers, after their step
  std::uint32_t unused;
};

}  // namespace nibble::cuda
