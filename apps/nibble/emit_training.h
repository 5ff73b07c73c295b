// SPDX-License-Identifier: Apache-2.0
// The options of nibble emit that belong to training on the device.
#pragma once

#include <string>

#include "nibble/emit/emit_training.h"

namespace CLI {
class App;
}

namespace nibble {

struct EmitTrainingFlags {
  bool is_on = false;
  std::string data;
  TrainEmitSettings settings;
};

void add_training_flags(CLI::App& verb, EmitTrainingFlags& flags);

// Of a model file, or of a network (a name or a .toml) with the weights that the trainer draws.
TrainingStart training_start_of(const std::string& what, const EmitTrainingFlags& flags);

}  // namespace nibble
