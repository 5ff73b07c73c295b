// SPDX-License-Identifier: Apache-2.0
// The choices of quantization as options.
#include "tasks/quantize_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quantization/layer_bits_text.h"
#include "quantization/recipe.h"
#include "tasks/shared_options.h"

namespace nibble::inline tasks {
namespace {

constexpr std::uint64_t kMostSamples = 1'000'000'000;
constexpr std::uint64_t kLongestSide = 32768;  // a side, as pictures have
constexpr std::uint64_t kMostBorder = 1024;
constexpr std::uint64_t kMostTuning = 1'000'000;  // epochs
constexpr double kLeastRate = 1e-30;
constexpr double kMostRate = 1e30;

int bits_of(const std::string& option, const std::string& format, bool may_be_unsigned) {
  const std::optional<int> bits = integer_bits(format, may_be_unsigned);
  if (!bits) {
    throw CLI::ValidationError(option, fmt::format("got '{}', expected int2 to int8{}", format,
                                                   may_be_unsigned ? " or uint2 to uint8" : ""));
  }
  return *bits;
}

// What was given on the command line stays.
void apply_recipe(CLI::App& verb, const std::string& name) {
  for (const RecipeOption& each : quantize_recipe(name)) {
    CLI::Option* option = verb.get_option("--" + each.name);
    if (option->count() > 0) continue;
    option->add_result(each.value);
    option->run_callback();
  }
}

std::vector<std::string> given_options(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* each : verb.get_options()) {
    if (each->count() > 0) names.push_back(each->get_name());
  }
  return names;
}

// Options that do nothing beside the others. A recipe's own are no mistake of who runs it.
void check_given(const QuantizeChoices& choices, std::span<const std::string> given) {
  const auto refuse = [&](std::string_view option, bool is_idle, const char* why) {
    if (is_idle && std::ranges::find(given, option) != given.end())
      throw CLI::ValidationError(std::string(option), why);
  };
  for (const char* option : {"--lr", "--crop", "--flip", "--seed", "--recollect"})
    refuse(option, choices.fine_tuning == 0, "is an option of fine-tuning: give --finetune, too");
  const int targets = (choices.mixed.target_size > 0 ? 1 : 0) +
                      (choices.mixed.target_file > 0 ? 1 : 0) + (choices.mixed.max_loss ? 1 : 0);
  if (targets > 1)
    throw CLI::ValidationError("--recipe", "--target-size, --target-file and --max-loss: only one");
  refuse("--weights", targets > 0,
         "each layer gets its own bits from --target-size, --target-file or --max-loss");
}

}  // namespace

QuantizeSettings settings_of(const QuantizeChoices& choices) {
  QuantizeSettings settings;
  settings.bits = {.weights = bits_of("--weights", choices.weights, false),
                   .activations = bits_of("--activations", choices.activations, true)};
  settings.edge_bits = choices.edge_bits;
  settings.is_per_channel = !choices.is_per_tensor;
  settings.is_symmetric = choices.activations.starts_with("int");
  settings.method = parse_range_method(choices.method);
  settings.equalizes = !choices.keeps_scales;
  settings.corrects_bias = !choices.keeps_biases;
  settings.learns_rounding = choices.learns_rounding;
  settings.has_integer_features = choices.has_integer_features;
  settings.form = choices.form == "nvidia" ? IntegerForm::nvidia : IntegerForm::usual;
  return settings;
}

void add_quantize_options(CLI::App& verb, QuantizeChoices& choices) {
  verb.add_option("--recipe", choices.recipe,
                  fmt::format("{} or a file: options, those given here first",
                              fmt::join(quantize_recipe_names(), ", ")))
      ->type_name("NAME");
  verb.add_option("--calib", choices.calib,
                  "data whose train split shows the ranges: a name or a path, also of a folder of\n"
                  "pictures without classes")
      ->required();
  verb.add_option("--data", choices.data, "data whose test split is counted (as --calib)");
  verb.add_option("--samples", choices.samples, "images for calibration (1024)")
      ->transform(whole_number(1, kMostSamples));
  verb.add_option("--image-size", choices.image_size, "side of the pictures of a folder")
      ->transform(whole_number(1, kLongestSide));
  add_skip_broken_option(verb, choices.skips_broken);
  verb.add_option("--weights", choices.weights, "int8, int7, … int2; fewer than 8 are packed");
  verb.add_option("--activations", choices.activations,
                  "uint8, uint4, …: 0 anywhere; int8, …: values of both signs around 0");
  verb.add_option("--method", choices.method,
                  "of ranges: max, percentile:P, entropy, mse, average");
  verb.add_option("--edges", choices.edge_bits,
                  "bits of the first and the last layer and of what enters the last")
      ->transform(whole_number(2, 8));
  verb.add_flag("--per-tensor", choices.is_per_tensor,
                "one step for a whole weight instead of one for each output");
  verb.add_flag("--no-equalize", choices.keeps_scales, "leave the scales of channels as they are");
  verb.add_flag("--no-bias-correction", choices.keeps_biases, "leave the biases as they are");
  verb.add_flag("--learn-rounding", choices.learns_rounding,
                "round weights up or down so that the sums of each layer stay");
  verb.add_option(
          "--form", choices.form,
          "of the integers: usual, or nvidia: factors of 16 bits with the shifts of its\n"
          "INT4 ResNet-50; a network of its kind can then be written as its layer directory")
      ->check(CLI::IsMember({"usual", "nvidia"}));
  CLI::Option* features =
      verb.add_flag("--integer-features", choices.has_integer_features,
                    "the network takes counters and sensors: int32, each feature with its range");
  add_mixed_flags(verb, choices.mixed);
  verb.add_option("--finetune", choices.fine_tuning,
                  "epochs of training with fake quantization and learned steps on --data; after\n"
                  "Ctrl-C the same command goes on from OUT.nib.checkpoint")
      ->excludes(features)
      ->transform(whole_number(0, kMostTuning));
  verb.add_flag("--recollect", choices.recollects,
                "of fine-tuning: before each epoch collect histograms anew and set the ranges,\n"
                "as NVIDIA did; otherwise steps learn with the weights");
  verb.add_option("--lr", choices.rate, "of fine-tuning (0.001), falling to 0 by a cosine")
      ->check(within(kLeastRate, kMostRate));
  verb.add_option("--crop", choices.crop, "of fine-tuning: random crops out of such a border")
      ->transform(whole_number(0, kMostBorder));
  verb.add_flag("--flip", choices.flips, "of fine-tuning: mirror every other picture");
  verb.add_option("--seed", choices.seed, "of fine-tuning: decides every number")
      ->transform(whole_number());
  add_threads_option(verb, choices.threads);
  add_device_option(verb, choices.device);
}

void finish_quantize_options(CLI::App& verb, QuantizeChoices& choices) {
  const std::vector<std::string> given = given_options(verb);
  if (!choices.recipe.empty()) apply_recipe(verb, choices.recipe);
  check_given(choices, given);
}

}  // namespace nibble::inline tasks
