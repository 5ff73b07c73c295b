// SPDX-License-Identifier: Apache-2.0
// A training run from its settings to its summary, by any method.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "epoch_loop/learner.h"
#include "epoch_loop/training_data.h"
#include "nibble/epoch_loop/run_settings.h"
#include "nibble/epoch_loop/train_options.h"

namespace nibble::inline epoch_loop {

// Gets the settings completed by the data; both outlive the learner.
using MakeLearner =
    std::function<std::unique_ptr<Learner>(const RunSettings& settings, const TrainingData& data)>;

// The first epoch, from 1, of an average of the last quarter; 0, none, of fewer than 4 epochs.
std::int64_t usual_average_start(std::int64_t epochs);

// What a recipe says, or the usual start where the run now ends before it.
std::int64_t average_start_within(std::int64_t told, std::int64_t epochs);

// Throws where an average of weights would begin after the last epoch; 0: there is none.
void check_average_start(std::int64_t first_epoch, std::int64_t epochs);

TrainResult run_training(const RunSettings& settings, const TrainOptions& options,
                         const MakeLearner& make_learner);

// A run that begins with the parameters of a model: what every arithmetic asks of it.
inline constexpr std::string_view kStart = "model to start from";

// A run without a network takes the model's, with softmax cross-entropy where it has no loss.
void take_network(RunSettings& settings, const Network& start);

// Throws, naming the first parameter that differs in name or shape.
void check_same_parameters(const Network& network, const Network& start);

}  // namespace nibble::inline epoch_loop
