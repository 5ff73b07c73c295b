// SPDX-License-Identifier: Apache-2.0
// What the trainer makes of a model in a few steps: the vectors of emitted training's check.
#pragma once

#include <cstdint>
#include <vector>

#include "nibble/emit/emit_training.h"

namespace nibble::inline emit {

struct WeightsAt {
  std::int64_t steps = 0;  // done
  std::uint64_t hash = 0;  // of all weights, parameter after parameter
};

struct TrainExpectation {
  std::vector<std::int8_t> images;  // mantissas, (row, column, channel)
  std::vector<std::int32_t> labels;
  std::vector<WeightsAt> weights;  // after a quarter of the steps, half …
};

TrainExpectation expected_training(const Model& start, const Dataset& examples,
                                   const TrainEmitSettings& settings);

}  // namespace nibble::inline emit
