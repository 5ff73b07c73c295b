// SPDX-License-Identifier: Apache-2.0
// The data of a run, and what a run learns from it before the first step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nibble/data/augment.h"
#include "nibble/data/dataset.h"
#include "nibble/epoch_loop/run_settings.h"
#include "nibble/graph/network.h"

namespace nibble::inline epoch_loop {

// Throws where the data's examples or classes do not fit the network.
void check_data(const Network& network, const Dataset& data);

// Throws where crop, flip or cutout is asked for and examples are no pictures.
void check_augment(const AugmentOptions& augment, const Dataset& data);

// The train split is cut in two where a validation split is held out.
struct TrainingData {
  Dataset train;
  std::optional<Dataset> test;
  std::vector<std::int32_t> indices;  // of the images that train
  std::optional<Dataset> validation;  // copies of the images held out
};

// Throws where the data does not fit the network or leaves nothing to train on.
TrainingData load_training_data(const RunSettings& settings);

// The mean and the deviation of each channel of byte pictures over the given images, as shares of
// 255; zeros and ones for floats.
struct ChannelMoments {
  std::vector<float> mean;
  std::vector<float> deviation;
};
ChannelMoments channel_moments(const Dataset& data, std::span<const std::int32_t> indices);

// The settings as they will run: the input knows its mean and deviation, the network its classes,
// and the data is known by its hash.
RunSettings complete(const RunSettings& settings, const TrainingData& data);

}  // namespace nibble::inline epoch_loop
