// SPDX-License-Identifier: Apache-2.0
// The scales of a tensor's groups, from the format, the caller or the data.
#pragma once

#include <span>
#include <vector>

#include "kernels/quantize/grouping.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

struct GroupScales {
  std::vector<GroupScale> groups;
  // two_level: the e4m3 scales of the blocks and what they are multiplied by.
  std::vector<float> block_scales;
  float tensor_scale = 1.0F;
};

// Refuses scales and zero points for a format that has its own.
void check_scales_beside(const Format& format, const QuantizeOptions& options);

// Of a format of kind `given`: from the options, or the format's own. Throws where they do not fit.
std::vector<GroupScale> given_scales(const Format& format, const Grouping& grouping,
                                     const QuantizeOptions& options);

GroupScales group_scales(std::span<const float> values, const Format& format,
                         const Grouping& grouping, const QuantizeOptions& options);

// Of a two_level format: its own, or from the data.
float tensor_scale_of(std::span<const float> values, const Format& format);

// Largest scaling_magnitude of a tensor, over threads and vectors.
float largest_magnitude_of(std::span<const float> values);

}  // namespace nibble::inline kernels
