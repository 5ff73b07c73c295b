// SPDX-License-Identifier: Apache-2.0
// Which runs nibble sweep makes: formats with roundings, or any options of nibble train.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "apps/nibble/sweep_table.h"
#include "tasks/integer_flags.h"
#include "tasks/train_flags.h"

namespace nibble {

struct SweepFlags {
  TrainFlags recipe;
  IntegerFlags integers;
  std::vector<std::string> formats;
  std::vector<std::string> roundings = {"nearest-even"};
  std::vector<std::string> roles = {"weight", "activation", "error", "gradient"};
  std::vector<std::string> varied;  // OPTION=VALUE
  std::string twin;                 // what is trained in floats for the first row
  std::int64_t seeds = 1;
  std::string out;
  bool is_json = false;
};

using AnyRecipe = std::variant<Recipe, IntegerRecipe>;
RunSettings& settings_of(AnyRecipe& recipe);
std::string json_of(const AnyRecipe& recipe);

struct PlannedRun {
  std::string folder;  // without the seed
  AnyRecipe recipe;
};

struct SweepPlan {
  AnyRecipe base;                // what the runs change
  SweepTable table;              // rows without results
  std::vector<PlannedRun> runs;  // one a row
};

SweepPlan plan_of(const SweepFlags& flags);

}  // namespace nibble
