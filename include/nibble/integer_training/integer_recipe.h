// SPDX-License-Identifier: Apache-2.0
// Recipes of integer-only training as TOML, and models that such training begins with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nibble/epoch_loop/recipe_files.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {

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

CrossEntropyForm loss_form_by_name(std::string_view name);  // "fractional", "octaves"

// One rule more, "value=stochastic" or "conv1.error=nearest"; the first one of a layer starts from
// what then stands for all.
void take_shift_rounding(std::string_view rule, IntegerRoundings& roundings);

// Lets the recipe begin with the parameters of a model, and with its mean and deviation of the
// input unless the recipe gives others. A float model is rounded to int8 when the run begins; its
// batch norms, and the dropouts beside them, fold away, and so do the steps of a fake-quantized
// one. A model of integer training is taken as it is. A recipe without a network takes the model's.
// Throws, naming the first parameter that differs from those of the network.
void start_from(IntegerRecipe& recipe, Model model);

}  // namespace nibble::inline integer_training
