// SPDX-License-Identifier: Apache-2.0
// Which runs nibble sweep makes.
#include "tasks/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <set>
#include <utility>

#include "core/name.h"
#include "epoch_loop/run_training.h"
#include "nibble/core/error.h"
#include "tasks/shared_options.h"

namespace nibble::inline tasks {
namespace {

constexpr int kMostSeeds = 10'000;

void add_run(SweepPlan& plan, std::vector<std::string> labels, const std::string& name,
             AnyRecipe recipe) {
  labels.resize(plan.table.axes.size());
  plan.table.rows.push_back({std::move(labels), {}});
  plan.runs.push_back({file_part(name), std::move(recipe)});
}

PolicyRule rule_for(const SweepFlags& flags, const Format& format, const Rounding& rounding) {
  PolicyRule rule;
  rule.place = "--roles";
  for (const std::string& role : flags.roles) rule.roles.push_back(role_by_name(role));
  rule.rounding.precision.format = format;
  rule.rounding.precision.rounding = rounding;
  if (rule.roles == std::vector{Role::accumulator}) {
    rule.rounding.accumulator = accumulator_of(format);
    rule.rounding.accumulator->rounding = rounding;
  } else if (std::ranges::find(rule.roles, Role::accumulator) != rule.roles.end()) {
    throw Error("sweep", "--roles", "accumulator beside others",
                "accumulator alone, or others without it");
  }
  return rule;
}

// The first row is what the others change: fp32, or the recipe with rules of its own.
void plan_formats(const SweepFlags& flags, SweepPlan& plan) {
  const auto& base = std::get<Recipe>(plan.base);
  const std::string first = base.policy.rules.empty() ? "fp32" : "recipe";
  add_run(plan, {first}, first, base);
  for (const std::string& text : flags.formats) {
    const Format format = parse_format(text);
    const std::string name = to_string(format);
    if (name == "fp32") continue;
    for (const std::string& word : flags.roundings) {
      const Rounding rounding = parse_rounding(word);
      check_combination(format, rounding, Overflow::native);
      const std::string canonical = to_string(rounding);
      Recipe recipe = base;
      recipe.policy.rules.push_back(rule_for(flags, format, rounding));
      recipe.policy.name = name + "/" + canonical;
      check_policy(recipe.policy, recipe.network);
      add_run(plan, {name, canonical}, name + "-" + canonical, std::move(recipe));
    }
  }
}

struct VariedOption {
  std::string name;  // without dashes
  std::vector<std::string> values;
};

std::vector<VariedOption> varied_options(const std::vector<std::string>& texts) {
  std::vector<VariedOption> options;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CLI::ValidationError("--vary", fmt::format("got '{}', expected OPTION=VALUE", text));
    const std::string name = text.substr(0, equals);
    auto found = std::ranges::find(options, name, &VariedOption::name);
    if (found == options.end()) found = options.insert(found, {name, {}});
    found->values.push_back(text.substr(equals + 1));
  }
  return options;
}

std::vector<std::string> axes_of(const SweepFlags& flags) {
  if (!flags.formats.empty()) return {"format", "rounding"};
  std::vector<std::string> axes;
  for (const VariedOption& option : varied_options(flags.varied)) axes.push_back(option.name);
  return axes.empty() ? std::vector<std::string>{"arith"} : axes;
}

// As the command line would have it with one more option; rules come behind those that are there.
void take_option(const std::string& name, const std::string& value, SweepFlags& flags) {
  CLI::App options;
  add_train_flags(options, flags.recipe);
  add_integer_flags(options, flags.integers);
  if (options.get_option_no_throw("--" + name) == nullptr || name == "seed") {
    throw CLI::ValidationError(
        "--vary", fmt::format("got '{}', expected an option of nibble train that decides numbers; "
                              "seeds are varied by --seeds",
                              name));
  }
  const auto rounds = std::exchange(flags.recipe.rounds, {});
  const auto roundings = std::exchange(flags.integers.roundings, {});
  options.parse(std::vector{"--" + name + "=" + value});
  flags.recipe.rounds.insert(flags.recipe.rounds.begin(), rounds.begin(), rounds.end());
  flags.integers.roundings.insert(flags.integers.roundings.begin(), roundings.begin(),
                                  roundings.end());
}

// Every value of every option with every value of the others.
void plan_varied(const SweepFlags& flags, SweepPlan& plan) {
  const std::vector<VariedOption> options = varied_options(flags.varied);
  std::size_t count = 1;
  for (const VariedOption& option : options) count *= option.values.size();
  for (std::size_t k = 0; k < count; ++k) {
    SweepFlags changed = flags;
    std::vector<std::string> labels;
    std::vector<std::string> names;
    std::size_t left = count;
    for (const VariedOption& option : options) {
      left /= option.values.size();
      const std::string& value = option.values[k / left % option.values.size()];
      take_option(option.name, value, changed);
      labels.push_back(value);
      names.push_back(option.name + "=" + value);
    }
    add_run(plan, std::move(labels), fmt::format("{}", fmt::join(names, ",")),
            any_recipe_of(changed.recipe, changed.integers));
  }
}

// In floats by another recipe's optimizer, schedule and formats; all else is the swept run's.
void plan_twin(const SweepFlags& flags, SweepPlan& plan) {
  TrainFlags of_twin;
  of_twin.what = flags.twin;
  of_twin.data = settings_of(plan.base).data;
  Recipe twin = recipe_of(of_twin);
  static_cast<RunSettings&>(twin) = settings_of(plan.base);
  twin.averaging.start = average_start_within(twin.averaging.start, twin.epochs);
  twin.name = flags.twin;
  const std::string name = twin.policy.rules.empty() ? "fp32" : flags.twin;
  add_run(plan, {name}, name, std::move(twin));
}

// Over its seeds. Beside a twin, whose name is fp32, a run of floats goes by its own.
void plan_alone(const SweepFlags& flags, SweepPlan& plan) {
  std::string name = "int8";
  if (const auto* floats = std::get_if<Recipe>(&plan.base))
    name = floats->policy.rules.empty() && flags.twin.empty() ? "fp32" : floats->name;
  add_run(plan, {name}, name, plan.base);
}

void check_runs(const SweepPlan& plan) {
  std::set<std::string> folders;
  for (const PlannedRun& run : plan.runs) {
    if (!folders.insert(run.folder).second)
      throw Error("sweep", "runs", "two in a folder " + run.folder, "each value once");
    if (const auto* recipe = std::get_if<Recipe>(&run.recipe))
      check_policy(recipe->policy, recipe->network);
    else
      check_integers(std::get<IntegerRecipe>(run.recipe));
  }
}

}  // namespace

void add_sweep_flags(CLI::App& verb, SweepFlags& flags) {
  CLI::Option* formats =
      verb.add_option("--formats", flags.formats,
                      "formats of float training; the run without them is always there");
  verb.add_option("--roundings", flags.roundings, "nearest-even, stochastic, …");
  verb.add_option("--roles", flags.roles,
                  "what is rounded: weight activation error gradient (default), momentum,\n"
                  "update, master, accumulator");
  verb.add_option(
          "--vary", flags.varied,
          "any option below that decides numbers, and a value: mu=5 mu=4 shifts=delayed …;\n"
          "every value of one is tried with every value of the others")
      ->type_name("OPTION=VALUE")
      ->excludes(formats);
  verb.add_option("--twin", flags.twin,
                  "first row: the same run in floats, by the optimizer of this recipe, or by Adam\n"
                  "where it is a network")
      ->type_name("RECIPE")
      ->excludes(formats);
  verb.add_option("--seeds", flags.seeds,
                  "runs a row (1), from --seed on; where nothing is varied there is one row,\n"
                  "or two with --twin")
      ->transform(whole_number(1, kMostSeeds));
  add_train_flags(verb, flags.recipe);
  add_integer_flags(verb, flags.integers);
}

SweepPlan plan_of(const SweepFlags& flags) {
  SweepPlan plan{any_recipe_of(flags.recipe, flags.integers), {}, {}};
  const bool is_of_integers = std::holds_alternative<IntegerRecipe>(plan.base);
  if (is_of_integers && !flags.formats.empty())
    throw CLI::ValidationError("--formats", "are of float training: int8 has --vary");
  const bool is_alone = flags.formats.empty() && flags.varied.empty();
  if (!is_of_integers && is_alone && flags.seeds == 1 && flags.twin.empty())
    throw CLI::RequiredError("--formats, --vary, --twin or more than one of --seeds");
  plan.table.axes = axes_of(flags);
  if (!flags.twin.empty()) plan_twin(flags, plan);
  if (!flags.formats.empty())
    plan_formats(flags, plan);
  else if (!flags.varied.empty())
    plan_varied(flags, plan);
  else
    plan_alone(flags, plan);
  check_runs(plan);
  return plan;
}

}  // namespace nibble::inline tasks
