// SPDX-License-Identifier: Apache-2.0
// nibble place: which device computes which pass of a training step, and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/nibble/verb.h"
#include "core/text_file.h"
#include "integer_step/choose_place.h"
#include "nibble/core/error.h"
#include "tasks/integer_flags.h"
#include "tasks/place_page.h"
#include "tasks/place_step.h"
#include "tasks/shared_options.h"
#include "tasks/train_flags.h"

namespace nibble {
namespace {

struct PlaceFlags {
  TrainFlags recipe;
  IntegerFlags integers;
  bool measures_anew = false;
  bool is_json = false;
  std::string report;
};

void check_auto(const std::string& place) {
  if (!is_auto(place))
    throw Error("place", "--place", place, "auto, or auto(A,B): the devices to choose between");
}

template <class AnyRecipe>
void show_plan(const AnyRecipe& recipe, const PlaceFlags& flags) {
  const StepPlan plan = plan_of(recipe, !flags.measures_anew);
  if (flags.is_json)
    fmt::print("{}\n", json_of(plan).dump(2));
  else
    fmt::print("{}", table_of(plan));
  if (flags.report.empty()) return;
  write_text_file(flags.report, plan_page(recipe.network, plan));
}

void run(PlaceFlags& flags) {
  if (!flags.integers.arithmetic) flags.integers.arithmetic = "int8";
  if (!flags.recipe.place && !flags.recipe.device) flags.recipe.place = "auto";
  check_arithmetic(flags.recipe, flags.integers);
  if (is_integer(flags.recipe, flags.integers)) {
    const IntegerRecipe recipe = integer_recipe_of(flags.recipe, flags.integers);
    check_auto(recipe.options.place);
    check_integers(recipe);
    show_plan(recipe, flags);
  } else {
    const Recipe recipe = recipe_of(flags.recipe);
    check_auto(recipe.place);
    show_plan(recipe, flags);
  }
}

}  // namespace

void add_place(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("place", "plan which device computes which pass of a training step");
  const auto flags = std::make_shared<PlaceFlags>();
  verb.add_option("NETWORK|RECIPE", flags->recipe.what,
                  "a network or recipe, as 'nibble train' takes it; trained in int8, or in\n"
                  "floats by --arith float")
      ->type_name("")
      ->required();
  add_train_flags(verb, flags->recipe);
  add_integer_flags(verb, flags->integers);
  verb.add_flag("--fresh", flags->measures_anew, "measure again, whatever the cache has");
  verb.add_flag("--json", flags->is_json, "print JSON");
  verb.add_option("--report", flags->report,
                  "write a page: the network coloured by device, the time line of a step")
      ->type_name("FILE.html")
      ->check(ending_in({".html", ".htm"}));
  verb.footer(
      "Measures every pass of every layer on both devices, and copies both ways; finds the\n"
      "cheapest cut, improves it on a simulated time line, runs real steps of it and of each\n"
      "device alone, and takes the fastest. Weights of int8 do not depend on the choice; of "
      "floats\n"
      "products of convolutions and linear layers alone can be elsewhere. Costs are kept\n"
      "in ~/.cache/nibble/placement.json (NIBBLE_PLACEMENT names another file) for the same\n"
      "machine, network and batch. 'nibble train --place auto' does the same before it trains.\n\n"
      "Examples:\n"
      "  nibble place lenet --data mnist --batch 64               the CPU and the first GPU, if "
      "any\n"
      "  nibble place vgg-small-7 --data cifar10 --batch 256 --place 'auto(cpu,cuda:1)' --memory "
      "2GB\n"
      "  nibble place lenet --data mnist --arith float --wire int8 --report plan.html\n"
      "  nibble place lenet --data mnist --report plan.html --json > plan.json");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
