// SPDX-License-Identifier: Apache-2.0
// What emitted training cannot do, said before anything is written.
#pragma once

#include "emit/train_plan.h"
#include "nibble/emit/emit_training.h"

namespace nibble::inline emit {

// Throws one line: a model that is not of integer training, settings without an emitted form, or
// all layers without one.
void check_trainable(const Model& start, const TrainEmitSettings& settings);

// Throws where sums of this batch could leave 32 bits, naming the layer.
void check_sums(const Network& network, const TrainPlan& plan, std::int64_t batch);

}  // namespace nibble::inline emit
