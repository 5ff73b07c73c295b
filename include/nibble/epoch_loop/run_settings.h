// SPDX-License-Identifier: Apache-2.0
// What every training run is told, whatever its arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nibble/data/augment.h"
#include "nibble/graph/network.h"
#include "nibble/run_folder/best.h"

namespace nibble::inline epoch_loop {

struct RunSettings {
  std::string name;
  std::string summary;
  std::string follows;  // the published figure or setting that it is after

  Network network;
  std::string data;
  std::string data_hash;        // of the train split and of the test split, which decide as much as
  std::string test_hash;        // settings do; empty until the data is loaded
  std::int64_t image_size = 0;  // of picture folders, see LoadOptions
  bool skips_broken = false;    // pictures, see LoadOptions
  std::vector<float> mean;      // of the input, one a channel; empty: measured on the train split
  std::vector<float> deviation;
  AugmentOptions augment;

  std::int64_t epochs = 10;
  std::int64_t batch = 128;
  std::uint64_t seed = 1;
  double validation = 0;  // below 1 a share of the train split, else a number of images
  EarlyStopping early_stopping;
  std::shared_ptr<const Model> start;  // first parameters; null: drawn by the seed
};

// Labels of the network's cross-entropy smoothed by this share; throws where its loss is another.
void smooth_labels(Network& network, double share);

}  // namespace nibble::inline epoch_loop
