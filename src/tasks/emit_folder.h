// SPDX-License-Identifier: Apache-2.0
// A model as a folder of plain C with test vectors that the engine has answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "nibble/emit/emit.h"
#include "nibble/emit/emit_training.h"

namespace nibble::inline tasks {

struct EmitRequest {
  EmitSettings settings = {};
  std::int64_t vectors = 10;
  bool is_forced = false;                          // write beside other files, too
  std::optional<TrainEmitSettings> training = {};  // also the training step
};

struct EmitOutcome {
  EmitFigures figures;
  std::optional<TrainingFigures> training;
  std::size_t files = 0;
};

// Throws where the folder may not be written into; to be asked before all that takes long.
void check_emit_folder(const std::filesystem::path& folder, const EmitRequest& request);

// The examples are for training alone.
EmitOutcome emit_folder(const TrainingStart& start, const std::filesystem::path& folder,
                        const EmitRequest& request);

// files, ram, flash, macs, plan: the values of the arena; training_ram of the training step.
std::string to_json(const EmitOutcome& made);

}  // namespace nibble::inline tasks
