// SPDX-License-Identifier: Apache-2.0
// Images for calibration.
#include <algorithm>

#include "epoch_loop/training_data.h"
#include "float_training/batcher.h"
#include "nibble/core/error.h"
#include "nibble/quantization/quantize_model.h"

namespace nibble::inline quantization {
namespace {

constexpr std::int64_t kImagesABatch = 64;

}  // namespace

FloatBatches calibration_batches(const Dataset& data, const Network& network,
                                 std::int64_t samples) {
  check_data(network, data);
  const std::int64_t count = std::min(samples, data.size());
  if (count < 1) throw Error("quantize", "calibration images", std::to_string(count), "1 or more");
  std::vector<std::int32_t> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    indices.push_back(static_cast<std::int32_t>(i * data.size() / count));
  }
  Batcher batcher(data, input_of(network));
  FloatBatches batches;
  for (std::int64_t begin = 0; begin < count; begin += kImagesABatch) {
    const auto size = static_cast<std::size_t>(std::min(kImagesABatch, count - begin));
    batcher.load(std::span(indices).subspan(static_cast<std::size_t>(begin), size), {}, {});
    batches.add(copy_of(batcher.images()));
  }
  return batches;
}

}  // namespace nibble::inline quantization
