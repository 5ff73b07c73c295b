// SPDX-License-Identifier: Apache-2.0
// Scales from the data, on the device: the ranges of groups, then what the definition makes of
// them.
#pragma once

#include "kernels/quantize/grouping.h"
#include "nibble/core/dtype.h"
#include "nibble/cuda/device.h"
#include "numerics/scale_rules.h"

namespace nibble::cuda {

// Bits of the largest magnitudes of a group's positive and negative elements.
struct GroupRange {
  std::uint32_t high;
  std::uint32_t low;
};

struct RangeJob {
  const void* input = nullptr;
  DType type = DType::f32;
  bool is_aligned = false;
  bool is_short = true;  // indices fit 31 bits
  std::int64_t count = 0;
  Grouping grouping;
  bool as_packages = false;  // compat: infinities and NaN stay
  GroupRange* ranges = nullptr;
};

void find_ranges(const RangeJob& job, const Place& place);

// Scales of `groups` groups from their ranges. Null where not wanted.
struct GroupScaleJob {
  ScaleKind kind = ScaleKind::absmax;
  ScaleRules rules;
  std::int64_t groups = 1;
  const GroupRange* ranges = nullptr;
  const float* tensor_scale = nullptr;  // two_level: of the tensor; null: to be found
  float* scales = nullptr;              // what elements are multiplied by
  std::int32_t* zeros = nullptr;
  float* stored_scales = nullptr;  // what is kept beside the codes
  std::int32_t* stored_zeros = nullptr;
};

void find_scales(const GroupScaleJob& job, const Place& place);

}  // namespace nibble::cuda
