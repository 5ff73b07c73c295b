// SPDX-License-Identifier: Apache-2.0
// Batches of a data set as the network wants them.
#include "float_training/batcher.h"

#include <algorithm>
#include <array>

#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kImagesAtOnce = 16;  // images a task

Shape shape_of(std::int64_t images, const Shape& example) {
  std::array<std::int64_t, kMaxRank> extents{images};
  std::ranges::copy(example.extents(), extents.begin() + 1);
  return Shape(std::span<const std::int64_t>(extents.data(), example.rank() + 1));
}

// What a byte becomes, for every channel: 256 entries each.
std::vector<float> byte_values(const Input& input, std::size_t channels) {
  std::vector<float> table(256 * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = input.mean.empty() ? 0.0 : static_cast<double>(input.mean[c]);
    const double deviation =
        input.deviation.empty() ? 1.0 : static_cast<double>(input.deviation[c]);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      table[c * 256 + byte] =
          static_cast<float>((static_cast<double>(byte) / 255.0 - mean) / deviation);
    }
  }
  return table;
}

}  // namespace

Batcher::Batcher(const Dataset& data, const Input& input) : data_(data), input_(input) {}

void Batcher::load(std::span<const std::int32_t> indices, const AugmentOptions& augment,
                   const AugmentKey& key) {
  const auto count = static_cast<std::int64_t>(indices.size());
  const Shape& pictures = data_.images.shape();
  const Shape batch{count, pictures[1], pictures[2], pictures[3]};
  shape_ = shape_of(count, input_.shape);
  if (images_.elements() < batch.elements()) images_ = Tensor(DType::f32, batch);
  if (data_.images.dtype() == DType::f32) {
    gather_images(data_.images, indices, augment, key, {images_.data(), DType::f32, batch});
  } else {
    if (bytes_.elements() < batch.elements()) bytes_ = Tensor(DType::u8, batch);
    const TensorView bytes(bytes_.data(), DType::u8, batch);
    gather_images(data_.images, indices, augment, key, bytes);
    const auto channels = static_cast<std::size_t>(pictures[3]);
    const std::vector<float> table = byte_values(input_, channels);
    const auto from = bytes.as<std::uint8_t>();
    const auto to = images_.as<float>();
    const std::size_t image = from.size() / indices.size();
    parallel_for(indices.size(), kImagesAtOnce, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin * image; i < end * image; i += channels) {
        for (std::size_t c = 0; c < channels; ++c) to[i + c] = table[c * 256 + from[i + c]];
      }
    });
  }

  labels_.clear();
  values_.clear();
  if (!data_.has_answers()) return;  // calibration asks for none
  const bool has_targets = data_.has_targets();
  const std::int64_t width = has_targets ? data_.targets.shape()[1] : 0;
  for (const std::int32_t index : indices) {
    if (has_targets) {
      const auto row = data_.targets.as<float>().subspan(static_cast<std::size_t>(index * width),
                                                         static_cast<std::size_t>(width));
      values_.insert(values_.end(), row.begin(), row.end());
    } else {
      labels_.push_back(data_.labels.as<std::int32_t>()[static_cast<std::size_t>(index)]);
    }
  }
}

}  // namespace nibble::inline float_training
