// SPDX-License-Identifier: Apache-2.0
// The texts of emitted training that hold numbers: its constants, first weights and vectors.
#pragma once

#include <string>
#include <vector>

#include "emit/c_text.h"
#include "emit/train_expectation.h"
#include "emit/train_plan.h"

namespace nibble::inline emit {

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
