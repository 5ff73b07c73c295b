// SPDX-License-Identifier: Apache-2.0
// The options of nibble train that belong to integer-only training.
#include "tasks/integer_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "integer_step/choose_place.h"
#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "tasks/shared_options.h"

namespace nibble::inline tasks {
namespace {

[[noreturn]] void refuse(const std::string& flag, std::string_view why) {
  throw CLI::ValidationError(flag, std::string(why));
}

IntegerRecipe base_of_integers(const TrainFlags& flags) {
  IntegerRecipe recipe;
  if (is_recipe(flags.what)) {
    const RecipeText text = find_recipe(flags.what);
    if (arithmetic_of(text) == Arithmetic::int8)
      return parse_integer_recipe(text.toml, text.source,
                                  {.epochs = flags.epochs, .start = flags.from});
    static_cast<RunSettings&>(recipe) = parse_recipe(text.toml, text.source);
    recipe.name += "-int8";
  } else {
    take_network(flags, recipe);
  }
  if (flags.from)
    start_from(recipe, read_model(*flags.from).model);
  else if (recipe.start)
    start_from(recipe, copy_of(*recipe.start));
  if (flags.epochs) recipe.epochs = *flags.epochs;
  set_usual_course(recipe);
  return recipe;
}

// Options of the rule that is not chosen.
void check_update_flags(const TrainFlags& flags, const IntegerFlags& integers,
                        const IntegerRecipe& recipe) {
  const bool is_sgd = std::holds_alternative<SgdUpdate>(recipe.options.update);
  for (const auto& [flag, is_given] :
       {std::pair{"--lr", flags.rate.has_value()},
        std::pair{"--momentum", flags.momentum.has_value()},
        std::pair{"--nesterov", flags.has_nesterov.has_value()},
        std::pair{"--weight-decay", flags.weight_decay.has_value()},
        std::pair{"--decay-norms", integers.has_norm_decay.has_value()},
        std::pair{"--schedule", flags.schedule.has_value()}}) {
    if (is_given && !is_sgd)
      refuse(flag, "is of --update sgd: the rule shift has --mu, --momentum16, --decay");
  }
  for (const auto& [flag, is_given] : {std::pair{"--mu", integers.mu.has_value()},
                                       std::pair{"--bias-mu", integers.bias_mu.has_value()},
                                       std::pair{"--momentum16", integers.momentum.has_value()},
                                       std::pair{"--decay", integers.has_decay.has_value()}}) {
    if (is_given && is_sgd)
      refuse(flag, "is of --update shift: the rule sgd has --lr, --momentum, --weight-decay");
  }
}

void take_shift(const IntegerFlags& integers, ShiftUpdate& update) {
  if (integers.momentum) update.momentum = *integers.momentum;
  if (integers.fraction_bits) update.fraction_bits = *integers.fraction_bits;
  if (integers.has_decay) update.has_decay = *integers.has_decay;
}

void take_sgd(const TrainFlags& flags, const IntegerFlags& integers, IntegerRecipe& recipe) {
  auto& update = std::get<SgdUpdate>(recipe.options.update);
  if (flags.rate) recipe.rate = *flags.rate;
  if (flags.weight_decay) recipe.weight_decay = *flags.weight_decay;
  if (flags.schedule) recipe.schedule = parse_schedule(*flags.schedule);
  if (flags.momentum) update.momentum = in_256ths(*flags.momentum);
  if (flags.has_nesterov) update.looks_ahead = *flags.has_nesterov;
  if (integers.fraction_bits) update.fraction_bits = *integers.fraction_bits;
  if (integers.has_norm_decay) update.has_norm_decay = *integers.has_norm_decay;
}

}  // namespace

void add_integer_flags(CLI::App& verb, IntegerFlags& flags) {
  verb.add_option("--arith", flags.arithmetic,
                  "float, or int8: integers from the image to the weight update (the recipe's,\n"
                  "else float)")
      ->check(CLI::IsMember({"float", "int8"}));
  verb.add_option("--update", flags.update,
                  "int8: shift, steps of --mu bits whatever the gradient's size (usual), or sgd,\n"
                  "which has --lr, --schedule, --momentum, --weight-decay and --fraction-bits")
      ->check(CLI::IsMember({"shift", "sgd"}));
  verb.add_option("--mu", flags.mu,
                  "int8: bits of a layer's largest step by epoch, as 5,4@100,3@150\n"
                  "(5, 4 after half of the epochs, 3 after three quarters)");
  verb.add_option("--bias-mu", flags.bias_mu, "int8: the same for biases (1)");
  verb.add_option("--shifts", flags.shifts,
                  "int8: exact, from each batch's largest sum; delayed, from the last batch's");
  verb.add_option("--shift-rounding", flags.roundings,
                  "int8: [LAYER.]TENSOR=ROUNDING, tensor value, error or gradient, rounding\n"
                  "nearest, stochastic or pseudo-stochastic; may be repeated")
      ->type_name("RULE")
      ->allow_extra_args(false);
  verb.add_option("--momentum16", flags.momentum, "int8: sixteenths of the last step that remain")
      ->transform(whole_number(0, kMostMomentum));
  verb.add_option("--fraction-bits", flags.fraction_bits,
                  "int8: bits below the weight's unit in which updates accumulate (0, sgd: 16)")
      ->transform(whole_number(0, kMostFractionBits));
  verb.add_option("--residual-bits", flags.residual_bits,
                  "int8: halvings of the first weights of layers that only an add reads (0)")
      ->transform(whole_number(0, kMostResidualBits));
  add_switch(verb, "--decay", flags.has_decay, "int8: NITI's weight decay");
  add_switch(verb, "--decay-norms", flags.has_norm_decay,
             "int8: --weight-decay counts for scales and shifts of batch norms, too");
  verb.add_option("--loss-form", flags.loss_form,
                  "int8: fractional, or octaves: exponents cut to whole numbers")
      ->check(CLI::IsMember({"fractional", "octaves"}));
  verb.add_option(
          "--statistics", flags.statistics,
          "int8: what freezes batch norms, calibrated, the images of --calibration (usual), or\n"
          "running, a mean over the batches that trained")
      ->check(CLI::IsMember({"calibrated", "running"}));
  verb.add_option("--calibration", flags.calibration,
                  "int8: images of the train split that freeze the shifts (1024)")
      ->transform(whole_number(1, kMostCalibration));
  verb.add_option("--freeze", flags.frozen,
                  "int8: layers whose weights stay as they are, by name or pattern (* any text,\n"
                  "? a letter); may be repeated")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
}

void check_arithmetic(const TrainFlags& flags, const IntegerFlags& integers) {
  if (!is_integer(flags, integers)) {
    for (const auto& [flag, is_given] :
         {std::pair{"--update", integers.update.has_value()},
          std::pair{"--mu", integers.mu.has_value()},
          std::pair{"--bias-mu", integers.bias_mu.has_value()},
          std::pair{"--shifts", integers.shifts.has_value()},
          std::pair{"--shift-rounding", !integers.roundings.empty()},
          std::pair{"--momentum16", integers.momentum.has_value()},
          std::pair{"--fraction-bits", integers.fraction_bits.has_value()},
          std::pair{"--residual-bits", integers.residual_bits.has_value()},
          std::pair{"--decay", integers.has_decay.has_value()},
          std::pair{"--decay-norms", integers.has_norm_decay.has_value()},
          std::pair{"--loss-form", integers.loss_form.has_value()},
          std::pair{"--statistics", integers.statistics.has_value()},
          std::pair{"--calibration", integers.calibration.has_value()},
          std::pair{"--freeze", !integers.frozen.empty()}}) {
      if (is_given) refuse(flag, "is an option of integer training: give --arith int8, too");
    }
    return;
  }
  for (const auto& [flag, is_given] :
       {std::pair{"--policy", flags.policy.has_value()},
        std::pair{"--round", !flags.rounds.empty()},
        std::pair{"--optimizer", flags.optimizer.has_value()},
        std::pair{"--init", flags.initialization.has_value()},
        std::pair{"--wire", flags.wire.has_value()},
        std::pair{"--compute", flags.compute.has_value()}, std::pair{"--fast", flags.is_fast}}) {
    if (is_given) {
      refuse(flag,
             "is an option of float training: --arith int8 has --mu, --momentum16, --decay, …");
    }
  }
}

bool is_integer(const TrainFlags& flags, const IntegerFlags& integers) {
  if (integers.arithmetic) return *integers.arithmetic == "int8";
  return is_recipe(flags.what) && arithmetic_of(find_recipe(flags.what)) == Arithmetic::int8;
}

IntegerRecipe integer_recipe_of(const TrainFlags& flags, const IntegerFlags& integers) {
  IntegerRecipe recipe = base_of_integers(flags);
  take_run_flags(flags, recipe);
  if (flags.average_from) recipe.average_from = *flags.average_from;
  if (integers.mu) recipe.mu = parse_mu(*integers.mu);
  if (integers.bias_mu) recipe.bias_mu = parse_mu(*integers.bias_mu);
  if (integers.calibration) recipe.calibration = *integers.calibration;
  IntegerOptions& options = recipe.options;
  options.seed = recipe.seed;
  if (integers.shifts) options.rule = shift_rule_by_name(*integers.shifts);
  if (integers.update) choose_update(*integers.update, recipe);
  check_update_flags(flags, integers, recipe);
  if (auto* shift = std::get_if<ShiftUpdate>(&options.update))
    take_shift(integers, *shift);
  else
    take_sgd(flags, integers, recipe);
  for (const std::string& text : integers.roundings) take_shift_rounding(text, options.roundings);
  if (integers.residual_bits) options.residual_bits = *integers.residual_bits;
  if (integers.loss_form) options.form = loss_form_by_name(*integers.loss_form);
  if (integers.statistics) options.statistics = statistics_by_name(*integers.statistics);
  if (!integers.frozen.empty()) options.frozen = integers.frozen;
  if (const auto place = place_of_flags(flags)) choose_place(*place, options);
  return recipe;
}

}  // namespace nibble::inline tasks
