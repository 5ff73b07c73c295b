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
  std::string arithmetic = "float";
  std::optional<std::string> mu;
  std::optional<std::string> bias_mu;
  std::optional<std::string> shifts;
  std::vector<std::string> roundings;  // [LAYER.]TENSOR=ROUNDING
  std::optional<int> momentum;
  std::optional<int> fraction_bits;
  std::optional<int> residual_bits;
  bool has_decay = false;
  std::optional<std::string> loss_form;
  std::optional<std::int64_t> calibration;
  std::string device = "cpu";

  bool is_integer() const { return arithmetic == "int8"; }
};

void add_integer_flags(CLI::App& verb, IntegerFlags& flags);

// A network or a float recipe's network, data and course, trained in integers.
IntegerRecipe integer_recipe_of(const TrainFlags& flags, const IntegerFlags& integers);

// Throws where an option of the other arithmetic is given.
void check_arithmetic(const TrainFlags& flags, const IntegerFlags& integers);

}  // namespace nibble::inline tasks
