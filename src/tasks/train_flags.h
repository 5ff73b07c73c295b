// SPDX-License-Identifier: Apache-2.0
// The options of nibble train and nibble sweep that make a recipe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nibble/float_training/recipe.h"
#include "nibble/run_folder/events.h"
#include "nibble/run_folder/run_folder.h"

namespace CLI {
class App;
}

namespace nibble::inline tasks {

constexpr int kMostEpochs = 1'000'000;  // as in recipes

struct TrainFlags {
  std::string what;                 // network or recipe
  std::optional<Network> network;   // in place of `what`: one that a program has made
  std::optional<std::string> from;  // a model to start from; without `what` its network is trained
  std::optional<std::string> data;
  std::optional<std::string> policy;
  std::vector<std::string> rounds;  // ROLES=FORMAT[/ROUNDING]
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> batch;
  std::optional<std::string> optimizer;
  std::optional<double> rate;
  std::optional<double> momentum;
  std::optional<bool> has_nesterov = {};
  std::optional<double> weight_decay;
  std::optional<std::string> schedule;
  std::optional<std::string> initialization;
  std::optional<std::uint64_t> seed;
  std::optional<double> validation;
  std::optional<std::int64_t> patience;
  std::optional<std::int64_t> average_from;
  std::optional<std::int32_t> crop;
  std::optional<bool> has_flip = {};
  std::optional<std::int32_t> cutout;
  std::optional<double> smoothing;
  std::optional<std::int64_t> image_size;
  bool skips_broken = false;
  std::optional<std::string> device;  // the same as a place
  std::optional<std::string> place;
  std::optional<std::string> memory;   // of the second device, where the place is auto
  std::optional<std::string> wire;     // of floats
  std::optional<std::string> compute;  // of floats
  bool is_fast = false;
  int threads = 0;
};

void add_train_flags(CLI::App& verb, TrainFlags& flags);

// --place, or --device, which means the same; both are refused. With --memory behind it.
std::optional<std::string> place_of_flags(const TrainFlags& flags);

// What is trained: the network of a recipe or the one itself, by name or path.
Network trained_network(const std::string& what);

// The network that a program has made, or the one of that name.
void take_network(const TrainFlags& flags, RunSettings& settings);
// The options that say nothing of the arithmetic.
void take_run_flags(const TrainFlags& flags, RunSettings& settings);

// The recipe, or one made of the network with usual settings, changed as the options say. Of a
// recipe of integers the run without its arithmetic is taken.
Recipe recipe_of(const TrainFlags& flags);

// Refuses more than one process.
void check_float_processes(int count);

// The TensorBoard file of a run, for TrainOptions::make_events.
std::unique_ptr<EventSink> tensorboard_sink(const RunFolder& folder,
                                            std::optional<std::int64_t> resumed_at);

// Where a run is kept unless it is told: runs/NAME-SEED.
std::string usual_folder(const RunSettings& settings);

// A policy file.
PrecisionPolicy load_policy(const std::string& path);

}  // namespace nibble::inline tasks
