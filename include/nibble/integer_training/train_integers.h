// SPDX-License-Identifier: Apache-2.0
// A complete run of integer-only training: its recipe, also as TOML, the run, and evaluation of
// what it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/epoch_loop/recipe_files.h"
#include "nibble/epoch_loop/run_settings.h"
#include "nibble/epoch_loop/train_options.h"
#include "nibble/graph/network.h"
#include "nibble/integer_step/settings.h"
#include "nibble/run_folder/metrics.h"
#include "nibble/run_folder/schedule.h"

namespace nibble::inline integer_training {

// The learning rate of integers: bits of a layer's largest step, by epoch.
struct MuSchedule {
  int first = 5;
  std::vector<std::pair<std::int64_t, int>> later = {};  // (epochs done, mu), ascending

  int at(std::int64_t epoch) const;  // epoch from 0
  bool operator==(const MuSchedule&) const = default;
};

// "5,4@100,3@150": 5, after 100 epochs 4, after 150 epochs 3. Errors name the part.
MuSchedule parse_mu(std::string_view text);
std::string to_string(const MuSchedule& schedule);

struct IntegerRecipe : RunSettings {
  MuSchedule mu;  // of the rule shift
  MuSchedule bias_mu{.first = 1};
  double rate = 0.05;       // of the rule sgd, and the next two
  double weight_decay = 0;  // added to gradients
  Schedule schedule = {};
  IntegerOptions options;           // its seed is the run's
  std::int64_t average_from = 0;    // first epoch whose weights count, from 1; 0: no averaging
  std::int64_t calibration = 1024;  // images of the train split that freeze the shifts
};

// As NITI: 5, then 4 after half of the epochs and 3 after three quarters; from 0 on, by the same
// steps, where a model is the start. The average is that of the last quarter.
void set_usual_course(IntegerRecipe& recipe);

// The rule sgd with momentum 0.9, a cosine, and gradients that are rounded stochastically.
void use_sgd(IntegerRecipe& recipe);

// All settings that decide the numbers, as JSON.
std::string to_json(const IntegerRecipe& recipe);

ShiftRule shift_rule_by_name(std::string_view name);  // "exact", "delayed"
std::string_view name_of(ShiftRule rule);

inline constexpr int kMostMomentum = 15;  // sixteenths
inline constexpr int kMostFractionBits = 16;
inline constexpr int kMostResidualBits = 8;
inline constexpr std::int64_t kMostCalibration = 65536;

// In place of what a recipe says, before the usual course follows from it.
struct RecipeChanges {
  std::optional<std::int64_t> epochs = {};
  std::optional<std::string> start = {};  // the path of a .nib
};

// Reads TOML with arith = "int8"; `source` is used in errors, which name line and key.
IntegerRecipe parse_integer_recipe(std::string_view toml, std::string_view source,
                                   const RecipeChanges& changes = {});

// A name of named_recipes, or the path of a .toml file; one of int8.
IntegerRecipe load_integer_recipe(std::string_view name_or_path, const RecipeChanges& changes = {});

// "shift" or "sgd", with what is usual for it; nothing where the recipe has it already.
void choose_update(std::string_view name, IntegerRecipe& recipe);
int in_256ths(double momentum);  // to the nearest

CrossEntropyForm loss_form_by_name(std::string_view name);   // "fractional", "octaves"
FrozenStatistics statistics_by_name(std::string_view name);  // "calibrated", "running"

// One rule more, "value=stochastic" or "conv1.error=nearest"; the first one of a layer starts from
// what then stands for all.
void take_shift_rounding(std::string_view rule, IntegerRoundings& roundings);

// Lets the recipe begin with the parameters of a model, and with its mean and deviation of the
// input unless the recipe gives others. A float model is rounded to int8 when the run begins; its
// batch norms, and the dropouts beside them, fold away, and so do the steps of a fake-quantized
// one and the rescales of a quantized one. A model of integer training is taken as it is, and its
// network where the recipe has none. Throws, naming the first parameter that differs.
void start_from(IntegerRecipe& recipe, Model model);

// Throws where a layer has no integer form or a setting would do nothing in the network.
void check_integers(const IntegerRecipe& recipe);

// What check_integers refuses is refused before any data is read.
TrainResult train_integers(const IntegerRecipe& recipe, const TrainOptions& options);

// Whether the model's weights are int8 with exponents, as train_integers writes them.
bool is_integer_model(const Model& model);

struct IntegerEvaluationOptions {
  ProgressStyle progress = ProgressStyle::silent;
  std::string device = "cpu";            // who computes; it changes no answer
  Communicator* communicator = nullptr;  // ranks that share the images; null: one alone
};

// With the frozen shifts of the file, so that no image's answer depends on others; or, as while
// training, with shifts from each batch of 256.
Evaluation evaluate_integers(const Model& model, const Dataset& data, ShiftRule rule,
                             const IntegerEvaluationOptions& options = {});

}  // namespace nibble::inline integer_training
