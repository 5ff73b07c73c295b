// SPDX-License-Identifier: Apache-2.0
// The mean and the deviation of each channel of pictures, from sums of integers.
#include "loop/channel_moments.h"

#include <cmath>

namespace nibble {

ChannelMoments channel_moments(const Dataset& data, std::span<const std::int32_t> indices) {
  const auto channels = static_cast<std::size_t>(data.images.shape()[3]);
  ChannelMoments moments{std::vector<float>(channels, 0.0F), std::vector<float>(channels, 1.0F)};
  if (data.images.dtype() != DType::u8 || indices.empty()) return moments;
  const auto bytes = data.images.as<std::uint8_t>();
  const std::size_t image = bytes.size() / static_cast<std::size_t>(data.size());
  std::vector<std::uint64_t> sum(channels);
  std::vector<std::uint64_t> squares(channels);
  for (const std::int32_t index : indices) {
    const auto picture = bytes.subspan(static_cast<std::size_t>(index) * image, image);
    for (std::size_t i = 0; i < image; ++i) {
      const std::uint64_t byte = picture[i];
      sum[i % channels] += byte;
      squares[i % channels] += byte * byte;
    }
  }
  const double count = static_cast<double>(image / channels) * static_cast<double>(indices.size());
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - mean * mean;
    moments.mean[c] = static_cast<float>(mean / 255.0);
    if (variance > 0) moments.deviation[c] = static_cast<float>(std::sqrt(variance) / 255.0);
  }
  return moments;
}

}  // namespace nibble
