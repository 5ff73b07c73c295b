// SPDX-License-Identifier: Apache-2.0
// How a model does on data, whatever it computes with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inference/engine_evaluation.h"
#include "nibble/graph/network.h"
#include "nibble/run_folder/metrics.h"
#include "nibble/run_folder/progress.h"

namespace CLI {
class App;
}

namespace nibble::inline tasks {

struct EvaluateChoices {
  std::string data;  // a name, a path, or a folder with val_map.txt
  std::string split = "test";
  std::string policy = {};  // a file: formats instead of the model's own
  std::string shifts = "frozen";
  std::string oracle = {};      // an accuracy log of MLPerf
  std::int64_t image_size = 0;  // of picture folders, see LoadOptions
  bool skips_broken = false;    // see LoadOptions
  std::string device = "cpu";
  bool is_engine = false;  // an integer-trained model by the engine, not by the trainer's own code
  int threads = 0;         // for use_threads
  ProgressStyle progress = ProgressStyle::silent;
};

void add_evaluate_options(CLI::App& verb, EvaluateChoices& choices);

// What was found, and how far a log agrees with it.
struct Findings {
  Evaluation evaluation;
  std::vector<std::string> class_names;
  std::optional<Agreement> agreement;
};

Findings evaluate_model(Model model, const EvaluateChoices& choices);

// What both are asked to tell: images, correct, top1, top5, loss, confusion, oracle.
std::string to_json(const Findings& findings, const EvaluateChoices& choices);

}  // namespace nibble::inline tasks
