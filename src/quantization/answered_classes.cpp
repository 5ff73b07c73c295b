// SPDX-License-Identifier: Apache-2.0
// Runs chosen images in batches.
#include "quantization/answered_classes.h"

#include <algorithm>
#include <set>

#include "epoch_loop/training_data.h"
#include "float_training/batcher.h"
#include "nibble/core/error.h"
#include "nibble/float_training/forward.h"

namespace nibble::inline quantization {
namespace {

constexpr std::size_t kBatch = 64;

}  // namespace

std::vector<std::int32_t> answered_classes(const Model& model, const Dataset& data,
                                           std::span<const std::int32_t> indices) {
  check_data(model.network, data);
  Batcher batcher(data, input_of(model.network));
  FloatForward forward(model);
  std::vector<std::int32_t> classes;
  for (std::size_t begin = 0; begin < indices.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, indices.size() - begin);
    batcher.load(indices.subspan(begin, count), {}, {});
    const Tensor answers = forward.answers(batcher.images());
    const std::span<const float> values = answers.as<float>();
    const std::size_t width = values.size() / count;
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = values.subspan(i * width, width);
      classes.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    }
  }
  return classes;
}

std::vector<std::int32_t> held_images(const Dataset& data, std::int64_t calibrated,
                                      std::int64_t count) {
  const std::int64_t size = data.size();
  const std::int64_t used = std::min(calibrated, size);
  std::set<std::int64_t> taken;
  for (std::int64_t i = 0; i < used; ++i) taken.insert(i * size / used);
  const std::int64_t held = std::min(count, size - used);
  std::vector<std::int32_t> indices;
  std::int64_t rank = 0;  // among the images that are not taken
  for (std::int64_t i = 0; i < size; ++i) {
    if (taken.contains(i)) continue;
    const auto chosen = static_cast<std::int64_t>(indices.size());
    if (chosen < held && rank == chosen * (size - used) / held) {
      indices.push_back(static_cast<std::int32_t>(i));
    }
    ++rank;
  }
  return indices;
}

double top1_of(const Model& model, const Dataset& data, std::span<const std::int32_t> indices) {
  if (data.has_targets())
    throw Error("quantize", data.name, "targets", "classes", ErrorKind::input);
  if (indices.empty())
    throw Error("quantize", data.name, "no image to count with", "one at least", ErrorKind::input);
  const std::vector<std::int32_t> classes = answered_classes(model, data, indices);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto label = data.labels.as<std::int32_t>()[static_cast<std::size_t>(indices[i])];
    right += classes[i] == label ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(indices.size());
}

}  // namespace nibble::inline quantization
