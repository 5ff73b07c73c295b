// SPDX-License-Identifier: Apache-2.0
// The options of nibble train that belong to integer-only training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nibble/integer_training/train_integers.h"
#include "tasks/train_flags.h"

namespace nibble::inline tasks {

struct IntegerFlags {
  std::optional<std::string> arithmetic;  // else the recipe's, else float
  std::optional<std::string> update;      // shift or sgd, else the recipe's, else shift
  std::optional<std::string> mu;
  std::optional<std::string> bias_mu;
  std::optional<std::string> shifts;
  std::vector<std::string> roundings;  // [LAYER.]TENSOR=ROUNDING
  std::optional<int> momentum;
  std::optional<int> fraction_bits;
  std::optional<int> residual_bits;
  std::optional<bool> has_decay = {};
  std::optional<bool> has_norm_decay = {};
  std::optional<std::string> loss_form;
  std::optional<std::string> statistics;
  std::optional<std::int64_t> calibration;
  std::vector<std::string> frozen;  // patterns
};

void add_integer_flags(CLI::App& verb, IntegerFlags& flags);

bool is_integer(const TrainFlags& flags, const IntegerFlags& integers);

// The recipe, or one made of the network with usual settings, changed as the options say. Of a
// recipe of floats the run without its arithmetic is taken.
IntegerRecipe integer_recipe_of(const TrainFlags& flags, const IntegerFlags& integers);

// Throws where an option of the other arithmetic is given.
void check_arithmetic(const TrainFlags& flags, const IntegerFlags& integers);

}  // namespace nibble::inline tasks
