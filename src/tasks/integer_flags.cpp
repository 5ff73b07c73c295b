// SPDX-License-Identifier: Apache-2.0
// The options of nibble train that belong to integer-only training.
#include "tasks/integer_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "nibble/core/error.h"
#include "tasks/shared_options.h"

namespace nibble::inline tasks {
namespace {

[[noreturn]] void refuse(const std::string& flag, std::string_view why) {
  throw CLI::ValidationError(flag, std::string(why));
}

// "value=pseudo-stochastic" or "conv1.error=stochastic"
void take_rounding(const std::string& text, IntegerRoundings& roundings) {
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.substr(0, equals).rfind('.');
  const std::string layer = dot == std::string::npos ? "" : text.substr(0, dot);
  const std::size_t from = dot == std::string::npos ? 0 : dot + 1;
  const std::string tensor = equals == std::string::npos ? "" : text.substr(from, equals - from);
  if (tensor != "value" && tensor != "error" && tensor != "gradient") {
    throw Error("train", "--shift-rounding", "'" + text + "'",
                "[LAYER.]value|error|gradient=nearest|stochastic|pseudo-stochastic");
  }
  RoundingChoice* choice = &roundings.all;
  if (!layer.empty()) {
    for (auto& [name, each] : roundings.layers) {
      if (name == layer) choice = &each;
    }
    if (choice == &roundings.all)
      choice = &roundings.layers.emplace_back(layer, roundings.all).second;
  }
  const ShiftRounding rounding = shift_rounding_by_name(text.substr(equals + 1));
  (tensor == "value"   ? choice->value
   : tensor == "error" ? choice->error
                       : choice->gradient) = rounding;
}

}  // namespace

void add_integer_flags(CLI::App& verb, IntegerFlags& flags) {
  verb.add_option("--arith", flags.arithmetic,
                  "float, or int8: integers from the image to the weight update")
      ->check(CLI::IsMember({"float", "int8"}));
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
      ->check(CLI::Range(0, 15));
  verb.add_option("--fraction-bits", flags.fraction_bits,
                  "int8: bits below the weight's unit in which updates accumulate")
      ->check(CLI::Range(0, 16));
  verb.add_option("--residual-bits", flags.residual_bits,
                  "int8: halvings of the first weights of layers that only an add reads (0)")
      ->check(CLI::Range(0, 8));
  verb.add_flag("--decay", flags.has_decay, "int8: NITI's weight decay");
  verb.add_option("--loss-form", flags.loss_form,
                  "int8: fractional, or octaves: exponents cut to whole numbers")
      ->check(CLI::IsMember({"fractional", "octaves"}));
  verb.add_option("--calibration", flags.calibration,
                  "int8: images of the train split that freeze the shifts (1024)")
      ->check(CLI::Range(1, 65536));
  add_device_option(verb, flags.device);
}

void check_arithmetic(const TrainFlags& flags, const IntegerFlags& integers) {
  if (!integers.is_integer()) {
    for (const auto& [flag, is_given] :
         {std::pair{"--mu", integers.mu.has_value()},
          std::pair{"--bias-mu", integers.bias_mu.has_value()},
          std::pair{"--shifts", integers.shifts.has_value()},
          std::pair{"--shift-rounding", !integers.roundings.empty()},
          std::pair{"--momentum16", integers.momentum.has_value()},
          std::pair{"--fraction-bits", integers.fraction_bits.has_value()},
          std::pair{"--residual-bits", integers.residual_bits.has_value()},
          std::pair{"--decay", integers.has_decay},
          std::pair{"--loss-form", integers.loss_form.has_value()},
          std::pair{"--calibration", integers.calibration.has_value()},
          std::pair{"--device", integers.device != "cpu"}}) {
      if (is_given) refuse(flag, "is an option of integer training: give --arith int8, too");
    }
    return;
  }
  for (const auto& [flag, is_given] : {std::pair{"--policy", flags.policy.has_value()},
                                       std::pair{"--round", !flags.rounds.empty()},
                                       std::pair{"--optimizer", flags.optimizer.has_value()},
                                       std::pair{"--lr", flags.rate.has_value()},
                                       std::pair{"--momentum", flags.momentum.has_value()},
                                       std::pair{"--weight-decay", flags.weight_decay.has_value()},
                                       std::pair{"--schedule", flags.schedule.has_value()},
                                       std::pair{"--init", flags.initialization.has_value()},
                                       std::pair{"--fast", flags.is_fast}}) {
    if (is_given) {
      refuse(flag,
             "is an option of float training: --arith int8 has --mu, --momentum16, --decay, …");
    }
  }
}

IntegerRecipe integer_recipe_of(const TrainFlags& flags, const IntegerFlags& integers) {
  const Recipe course = recipe_of(flags);
  if (course.start) {
    throw Error("train", "model to start from", "one of floats beside --arith int8",
                "none: integer training draws its first weights");
  }
  IntegerRecipe recipe;
  static_cast<RunSettings&>(recipe) = course;
  if (is_recipe(flags.what)) recipe.name += "-int8";
  set_usual_course(recipe);
  if (flags.average_from) recipe.average_from = *flags.average_from;
  if (integers.mu) recipe.mu = parse_mu(*integers.mu);
  if (integers.bias_mu) recipe.bias_mu = parse_mu(*integers.bias_mu);
  if (integers.calibration) recipe.calibration = *integers.calibration;
  IntegerOptions& options = recipe.options;
  options.seed = recipe.seed;
  if (integers.shifts) options.rule = shift_rule_by_name(*integers.shifts);
  for (const std::string& text : integers.roundings) take_rounding(text, options.roundings);
  if (integers.momentum) options.update.momentum = *integers.momentum;
  if (integers.fraction_bits) options.update.fraction_bits = *integers.fraction_bits;
  if (integers.residual_bits) options.residual_bits = *integers.residual_bits;
  options.update.has_decay = integers.has_decay;
  options.device = integers.device;
  if (integers.loss_form == "octaves") options.form = CrossEntropyForm::whole_octaves;
  return recipe;
}

}  // namespace nibble::inline tasks
