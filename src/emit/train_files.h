// SPDX-License-Identifier: Apache-2.0
// The texts of emitted training that hold numbers: its constants, first weights and vectors; and
// what is refused before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emit/c_text.h"
#include "emit/train_plan.h"
#include "nibble/emit/emit_training.h"

namespace nibble::inline emit {

// Throws one line that names all layers without an emitted form.
void check_trainable_layers(const Network& network);

// Throws one line: a model that is not of integer training, settings without an emitted form, or
// all layers without one.
void check_trainable(const Model& start, const TrainEmitSettings& settings);

// Throws where sums of this batch could leave 32 bits, naming the layer.
void check_sums(const Network& network, const TrainPlan& plan, std::int64_t batch);

// What the trainer makes of a model in a few steps: the vectors of emitted training's check.
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

std::int64_t weight_count(const Network& network);

// Bytes of the state as the emitted header declares it, on every processor.
std::int64_t state_bytes(const Network& network, const TrainPlan& plan);

// The macros that the header begins with.
std::string training_constants(const Network& network, const TrainPlan& plan,
                               const TrainEmitSettings& settings);

CArray first_weights(const Model& start);

std::string check_constants(const TrainExpectation& expectation, const TrainEmitSettings& settings);
std::vector<CArray> check_arrays(const TrainExpectation& expectation);
std::string check_hashes(const TrainExpectation& expectation);

}  // namespace nibble::inline emit
