// SPDX-License-Identifier: Apache-2.0
// nibble train: a network, a data set, a policy; a run folder with everything about it.
#include "nibble/float_training/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/nibble/verb.h"
#include "core/device_name.h"
#include "core/hash.h"
#include "integer_step/choose_place.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/cuda/device.h"
#include "nibble/integer_training/train_integers.h"
#include "nibble/run_folder/interrupt.h"
#include "run_folder/provenance.h"
#include "tasks/any_recipe.h"
#include "tasks/integer_flags.h"
#include "tasks/place_step.h"
#include "tasks/shared_options.h"
#include "tasks/train_flags.h"

namespace nibble {
namespace {

struct TrainVerbFlags {
  TrainFlags recipe;
  IntegerFlags integers;
  std::string out;
  bool resumes = false;
  bool overwrites = false;
  bool continues = false;
  bool is_quiet = false;
  bool skips_statistics = false;
  std::int64_t checkpoint_every = 1;
  std::int64_t stop_after = 0;
  std::string profile;
  int ranks = 1;
  std::string device = "cpu";  // that trained
};

const std::string kAllDevices = "all devices";

void print_recipes() {
  const std::vector<NamedRecipe> recipes = named_recipes();
  std::size_t width = 0;
  for (const NamedRecipe& each : recipes) width = std::max(width, each.name.size());
  for (const NamedRecipe& each : recipes) {
    const RecipeText text = find_recipe(each.name);
    const RunSettings recipe = arithmetic_of(text) == Arithmetic::int8
                                   ? RunSettings(parse_integer_recipe(text.toml, text.source))
                                   : RunSettings(parse_recipe(text.toml, text.source));
    fmt::print("{:<{}}  {}\n", each.name, width, recipe.summary);
  }
}

void warn_of_slow_products(const Recipe& recipe) {
  const bool is_slow = std::ranges::any_of(recipe.policy.rules, [](const PolicyRule& rule) {
    return rule.rounding.accumulator.has_value();
  });
  if (is_slow) {
    fmt::print(stderr,
               "nibble: simulated accumulators round every sum: expect a step to take a hundred "
               "times as long\n");
  }
}

void print_result(const TrainResult& result, const TrainVerbFlags& flags) {
  if (!result.is_complete) {
    fmt::print("stopped after {} epochs, {} steps; 'nibble train … --resume --out {}' goes on\n",
               result.epochs, result.steps, flags.out);
    return;
  }
  const auto print = [](std::string_view what, const std::optional<Evaluation>& evaluation) {
    if (!evaluation) return;
    if (evaluation->classes) {
      fmt::print("{:<14} {:.2f} % top-1, {:.2f} % top-5 of {} images, loss {:.4f}\n", what,
                 100 * evaluation->classes->top1(), 100 * evaluation->classes->top5(),
                 evaluation->images, evaluation->loss);
    } else {
      fmt::print("{:<14} loss {:.6f} over {} examples\n", what, evaluation->loss,
                 evaluation->images);
    }
  };
  if (result.best.has_value()) fmt::print("{:<14} epoch {}\n", "best", result.best.epoch);
  print("validation", result.validation);
  print("test", result.test);
  print("unaveraged", result.unaveraged_test);
  for (const NamedEvaluation& each : result.more) print(each.name, each.evaluation);
  for (const std::string& each : result.warnings) fmt::print("{:<14} {}\n", "warning", each);
  fmt::print("{:<14} {}\n", "weights", hex(result.weights_hash));
  fmt::print("{:<14} {:.1f} s, {} epochs, {} steps\n", "time", result.seconds, result.epochs,
             result.steps);
  const double values = static_cast<double>(result.peak_value_bytes) / 1048576.0;
  if (flags.device.starts_with("cuda") || flags.device == kAllDevices) {
    fmt::print("{:<14} {:.0f} MiB at most here; {:.0f} MiB of values and errors on {}\n", "memory",
               peak_memory_mib(), values, flags.device);
  } else {
    fmt::print("{:<14} {:.0f} MiB at most, {:.0f} of them values and errors\n", "memory",
               peak_memory_mib(), values);
  }
  fmt::print("{:<14} {}\n", "run", flags.out);
}

// The options that say nothing of the arithmetic; the run folder is named after the run.
TrainOptions options_of(TrainVerbFlags& flags, const RunSettings& settings) {
  if (flags.stop_after > settings.epochs) {
    throw CLI::ValidationError(
        "--stop-after",
        fmt::format("got {}, expected at most {}, the epochs", flags.stop_after, settings.epochs));
  }
  if (flags.out.empty()) flags.out = usual_folder(settings);
  return {.folder = flags.out,
          .mode = flags.resumes      ? RunFolderMode::resume
                  : flags.continues  ? RunFolderMode::start_or_resume
                  : flags.overwrites ? RunFolderMode::overwrite
                                     : RunFolderMode::fresh,
          .progress = flags.is_quiet ? ProgressStyle::silent : ProgressStyle::automatic,
          .checkpoint_every = flags.checkpoint_every,
          .stop_after = flags.stop_after,
          .has_layer_statistics = !flags.skips_statistics,
          .profile = flags.profile,
          .make_events = tensorboard_sink,
          .communicator = &world()};
}

TrainResult run_float(TrainVerbFlags& flags) {
  Recipe recipe = recipe_of(flags.recipe);
  check_float_processes(std::max(world().size(), flags.ranks));
  warn_of_slow_products(recipe);
  const TrainOptions options = options_of(flags, recipe);
  if (const auto plan = place_run(recipe, options); plan && !flags.is_quiet)
    fmt::print(stderr, "nibble: placed {}\n", summary_of(*plan));
  return train(recipe, options);
}

// Ranks that were given no GPU by its number share all that their machine has.
void share_gpus(const TrainFlags& flags, IntegerOptions& options) {
  const std::string asked = flags.device.value_or(flags.place.value_or(""));
  if (world().size() == 1 || options.device != "cuda" || asked.find("cuda:0") != std::string::npos)
    return;
  const int gpus = std::max(cuda::device_count(), 1);
  options.device = DeviceName{.kind = "cuda", .index = local_rank() % gpus}.to_string();
}

TrainResult run_integers(TrainVerbFlags& flags) {
  if (flags.recipe.threads == 0 && flags.ranks > 1)
    flags.recipe.threads = std::max(thread_count() / flags.ranks, 1);
  start_ranks(flags.ranks);
  IntegerRecipe recipe = integer_recipe_of(flags.recipe, flags.integers);
  share_gpus(flags.recipe, recipe.options);
  if (is_auto(recipe.options.place) && world().size() > 1)
    throw Error("train", "processes", std::to_string(world().size()),
                "1: --place auto measures one; rules that name devices serve several");
  const TrainOptions options = options_of(flags, recipe);
  if (const auto plan = place_run(recipe, options); plan && !flags.is_quiet)
    fmt::print(stderr, "nibble: placed {}\n", summary_of(*plan));
  flags.device =
      recipe.options.place.find("cuda") == std::string::npos ? recipe.options.device : kAllDevices;
  return train_integers(recipe, options);
}

void run(TrainVerbFlags& flags) {
  check_arithmetic(flags.recipe, flags.integers);
  const TrainResult result =
      is_integer(flags.recipe, flags.integers) ? run_integers(flags) : run_float(flags);
  if (result.stopped_by != 0) world().barrier();  // the checkpoint is there before anyone leaves
  if (world().rank() != 0) return;
  if (result.stopped_by != 0) {
    throw Interrupted(result.stopped_by,
                      fmt::format("interrupted after {} epochs, {} steps; the same command with "
                                  "--resume goes on from the checkpoint in {}",
                                  result.epochs, result.steps, flags.out));
  }
  print_result(result, flags);
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("train", "train a network in any precision, or in integers alone");
  const auto flags = std::make_shared<TrainVerbFlags>();
  verb.add_option("NETWORK|RECIPE", flags->recipe.what,
                  "a network ('nibble describe' lists them), a recipe, or a .toml file of either;\n"
                  "without it the recipes are listed")
      ->type_name("");
  add_train_flags(verb, flags->recipe);
  add_integer_flags(verb, flags->integers);
  verb.add_option("--out", flags->out, "run folder (runs/NAME-SEED)")->type_name("DIR");
  CLI::Option* resume =
      verb.add_flag("--resume", flags->resumes, "go on from the checkpoint in the run folder");
  CLI::Option* overwrite =
      verb.add_flag("--overwrite", flags->overwrites,
                    "replace the run in the run folder, once this one has a checkpoint")
          ->excludes(resume);
  verb.add_flag("--continue", flags->continues, "start, or go on where there is a checkpoint")
      ->excludes(resume)
      ->excludes(overwrite);
  verb.add_option("--checkpoint-every", flags->checkpoint_every,
                  "epochs (1); 0: at the end and on Ctrl-C")
      ->transform(whole_number(0, kMostEpochs));
  verb.add_option("--stop-after", flags->stop_after, "stop after so many epochs, to be resumed")
      ->transform(whole_number(0, kMostEpochs));
  verb.add_option("--ranks", flags->ranks,
                  "processes on this machine that share each batch, of --arith int8 (1);\n"
                  "threads are those of each")
      ->transform(whole_number(1, kMostRanks));
  verb.add_flag("--no-layer-statistics", flags->skips_statistics,
                "no layers.csv and histograms.csv");
  verb.add_option("--profile", flags->profile,
                  "a trace of one step for ui.perfetto.dev or chrome://tracing: layers and passes\n"
                  "on the host, on a device its work and copies")
      ->type_name("FILE");
  verb.add_flag("--quiet", flags->is_quiet, "no progress");
  verb.footer(
      "The same seed gives the same weights, bit for bit, with any number of threads. Ctrl-C "
      "writes a\n"
      "checkpoint; --resume goes on to the very weights of a run that was not interrupted, from "
      "the same\n"
      "data alone. --continue in a script starts or goes on, whatever had happened before.\n\n"
      "Examples:\n"
      "  nibble train                                              the recipes\n"
      "  nibble train convnet-8x8 --data digits                    a float network in seconds\n"
      "  nibble train lenet --data mnist --round weight,activation=e4m3 --round "
      "error=e5m2/stochastic\n"
      "  nibble train mnist-lenet-bfp8-swalp --seed 2              a recipe with another seed\n"
      "  nibble train --from model.nib --data mnist --lr 0.0001    some more epochs of a model\n"
      "  nibble train mnist-lenet-int8                             not one float in the step\n"
      "  nibble train --from model.nib --data mnist --arith int8 --freeze 'conv*' --fraction-bits "
      "8\n"
      "  nibble train lenet --data mnist --arith int8 --place auto  each pass where it is fastest\n"
      "  nibble train vgg-small-7 --data cifar10 --arith int8 --crop 4 --flip --ranks 4\n"
      "  nibble train resnet20 --data cifar10 --policy my.toml --val 5000 --patience 10");
  verb.callback([flags, &verb] {
    if (!flags->recipe.what.empty() || flags->recipe.from) return run(*flags);
    for (const CLI::Option* each : verb.get_options()) {
      if (each->count() > 0) throw CLI::RequiredError("NETWORK|RECIPE");
    }
    print_recipes();
  });
}

}  // namespace nibble
