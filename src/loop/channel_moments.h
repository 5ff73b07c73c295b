// SPDX-License-Identifier: Apache-2.0
// The mean and the deviation of each channel of pictures.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/data/dataset.h"

namespace nibble {

// Of byte pictures over the given images, as shares of 255; zeros and ones for floats.
struct ChannelMoments {
  std::vector<float> mean;
  std::vector<float> deviation;
};
ChannelMoments channel_moments(const Dataset& data, std::span<const std::int32_t> indices);

}  // namespace nibble
