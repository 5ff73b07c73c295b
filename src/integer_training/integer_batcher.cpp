// SPDX-License-Identifier: Apache-2.0
// Batches of a data set as int8 mantissas.
#include "integer_training/integer_batcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/input_table.h"
#include "graph/integer_form.h"

namespace nibble::inline integer_training {
namespace {

std::size_t channels_of(const Dataset& data) {
  return static_cast<std::size_t>(data.images.shape()[3]);
}

bool is_float(const Dataset& data) {
  return data.images.dtype() == DType::f32;
}

}  // namespace

InputScale input_scale(const Input& input, const Dataset& data) {
  double largest = 0;
  if (is_float(data)) {
    for (const float each : data.images.as<float>())
      largest = std::max(largest, std::abs(static_cast<double>(each)));
  } else {
    for (std::size_t c = 0; c < channels_of(data); ++c) {
      for (const double byte : {0.0, 255.0})
        largest = std::max(largest, std::abs(normalized(input, c, byte)));
    }
  }
  return input_scale(input, data, exponent_for(largest));
}

InputScale input_scale(const Input& input, const Dataset& data, int exponent) {
  InputScale scale{exponent, {}};
  if (is_float(data)) return scale;
  for (const std::int32_t each : input_table(input, int8_of(exponent), channels_of(data)))
    scale.tables.push_back(static_cast<std::int8_t>(each));
  return scale;
}

IntegerBatcher::IntegerBatcher(const Dataset& data, InputScale scale, std::int64_t answers)
    : data_(data), scale_(std::move(scale)), answers_(answers) {}

IntegerBatch IntegerBatcher::load(std::span<const std::int32_t> indices,
                                  const AugmentOptions& augment, const AugmentKey& key,
                                  const RankShare& share) {
  const auto all = static_cast<std::int64_t>(indices.size());
  const std::int64_t first = share.first(all);
  const std::int64_t count = share.count(all);
  const auto own =
      indices.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  const Shape& pictures = data_.images.shape();
  const Shape shape{count, pictures[1], pictures[2], pictures[3]};
  const bool selects =
      !gathers_ && !scale_.tables.empty() && count > 0 && data_.images.is_in_memory();
  if (!selects && gathered_.elements() < shape.elements())
    gathered_ = Tensor(data_.images.dtype(), shape);
  const TensorView batch(gathered_.data(), data_.images.dtype(), shape);
  if (count > 0 && !selects) gather_images(data_.images, own, augment, key, batch);

  IntegerBatch result{.input = {.images = count, .exponent = scale_.exponent},
                      .first_image = first,
                      .all_images = all};
  if (scale_.tables.empty()) {
    mantissas_.clear();
    const InputRounder mantissa_of(int8_of(scale_.exponent));
    for (const float each : batch.as<float>())
      mantissas_.push_back(static_cast<std::int8_t>(mantissa_of(static_cast<double>(each))));
    result.input.mantissas = mantissas_;
  } else {
    if (selects) {
      result.input.selection = {data_.images.view(), own, augment, key};
    } else {
      result.input.bytes = batch.as<std::uint8_t>();
    }
    result.input.tables = scale_.tables;
  }

  labels_.clear();
  targets_.clear();
  const std::int64_t width = data_.has_targets() ? data_.targets.shape()[1] : 0;
  for (const std::int32_t index : own) {
    if (!data_.has_targets()) {
      labels_.push_back(data_.labels.as<std::int32_t>()[static_cast<std::size_t>(index)]);
      for (std::int64_t c = 0; c < answers_; ++c)
        targets_.push_back(c == labels_.back() ? 1 << -kTargetExponent : 0);
      continue;
    }
    for (std::int64_t k = 0; k < width; ++k) {
      const double target = data_.targets.as<float>()[static_cast<std::size_t>(index * width + k)];
      targets_.push_back(static_cast<std::int32_t>(std::clamp(
          std::round(std::ldexp(target, -kTargetExponent)), -2147483647.0, 2147483647.0)));
    }
  }
  result.labels = labels_;
  result.targets = targets_;
  return result;
}

}  // namespace nibble::inline integer_training
