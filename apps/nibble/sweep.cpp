// SPDX-License-Identifier: Apache-2.0
// nibble sweep: one training in many settings, one table and one picture.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "apps/nibble/sweep_plan.h"
#include "apps/nibble/verb.h"
#include "core/atomic_file.h"
#include "core/hash.h"
#include "core/name.h"
#include "epoch_loop/training_data.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"
#include "nibble/float_training/train.h"
#include "nibble/run_folder/interrupt.h"
#include "report/bar_chart.h"
#include "tasks/json.h"
#include "tasks/place_step.h"
#include "tasks/train_flags.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSeeds = 10'000;

double accuracy_in(const fs::path& folder) {
  std::ifstream in(folder / "summary.json");
  const Json summary = Json::parse(in, nullptr, false);
  const std::string split = summary.is_object() && summary.contains("test") ? "test" : "val";
  if (!summary.is_object() || !summary.contains(split) || !summary[split].contains("top1") ||
      !summary[split]["top1"].is_number()) {
    throw Error("sweep",
                fmt::format("{}: no accuracy in summary.json; remove the folder to run again",
                            folder.string()),
                ErrorKind::input);
  }
  return summary[split]["top1"].get<double>();
}

// A run that is there is taken as it is, one that was interrupted goes on. Each trains alone.
void train_in(const fs::path& folder, AnyRecipe& recipe) {
  std::error_code ignored;
  if (fs::exists(folder / "summary.json", ignored)) return;
  const TrainOptions options{
      .folder = folder,
      .mode = RunFolderMode::start_or_resume,
      .progress = world().size() > 1 ? ProgressStyle::silent : ProgressStyle::automatic,
      .make_events = tensorboard_sink};
  if (auto* integers = std::get_if<IntegerRecipe>(&recipe)) {
    place_recipe(*integers);
    train_integers(*integers, options);
  } else {
    place_recipe(std::get<Recipe>(recipe));
    train(std::get<Recipe>(recipe), options);
  }
}

// What the last run would find wrong is said before the first one.
void check_data_of(SweepPlan& plan) {
  for (PlannedRun& run : plan.runs) {
    const RunSettings& settings = settings_of(run.recipe);
    RunSettings& base = settings_of(plan.base);
    const bool is_known = !base.data_hash.empty() && settings.data == base.data &&
                          settings.image_size == base.image_size;
    if (is_known) continue;
    const Dataset data = load_dataset(settings.data, Split::train,
                                      {.image_size = settings.image_size,
                                       .input = input_of(settings.network).shape,
                                       .skips_broken = settings.skips_broken});
    check_data(settings.network, data);
    base.data_hash = hex(hash_of(data));
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && fs::is_directory(folder, error)) return;
  throw Error("sweep",
              fmt::format("cannot make folder {}: {}", folder.string(),
                          error ? error.message() : "a file is there"),
              ErrorKind::system);
}

// What the folder is for; another sweep must not mix with it.
void claim_folder(const SweepFlags& flags, const AnyRecipe& base) {
  Json json = Json::parse(json_of(base));
  if (!flags.formats.empty()) json["roles"] = flags.roles;
  if (!flags.twin.empty()) json["twin"] = flags.twin;
  json.erase("seed");
  const fs::path path = fs::path(flags.out) / "sweep.json";
  make_folder(flags.out);
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    std::ifstream in(path);
    const Json old = Json::parse(in, nullptr, false);
    if (old.is_object() && !old.contains("data_hash")) json.erase("data_hash");  // older versions
    if (old != json) {
      throw Error("sweep",
                  fmt::format("{} holds a sweep with other settings; --out names another folder",
                              flags.out));
    }
    return;
  }
  AtomicFile file(path);
  file.stream() << json.dump(2) << "\n";
  file.commit();
}

// Row after row, seed after seed.
class SweepRuns {
 public:
  SweepRuns(const SweepFlags& flags, SweepPlan& plan)
      : flags_(flags), plan_(plan), first_seed_(settings_of(plan.base).seed) {}

  // Of n processes each takes every n-th run.
  void train_share() {
    const auto ranks = static_cast<std::size_t>(world().size());
    for (auto i = static_cast<std::size_t>(world().rank()); i < count(); i += ranks) {
      AnyRecipe recipe = plan_.runs[i / seeds()].recipe;
      settings_of(recipe).seed = seed_of(i);
      fmt::print(stderr, "run {}/{}: {} seed {}\n", i + 1, count(),
                 fmt::join(plan_.table.rows[i / seeds()].labels, " "), seed_of(i));
      train_in(folder_of(i), recipe);
      if (interrupt_requested()) return;
    }
  }

  void read_results() {
    for (std::size_t i = 0; i < count(); ++i)
      plan_.table.rows[i / seeds()].top1.push_back(accuracy_in(folder_of(i)));
  }

 private:
  std::size_t seeds() const { return static_cast<std::size_t>(flags_.seeds); }
  std::size_t count() const { return plan_.runs.size() * seeds(); }
  std::uint64_t seed_of(std::size_t i) const { return first_seed_ + i % seeds(); }
  fs::path folder_of(std::size_t i) const {
    return fs::path(flags_.out) /
           fmt::format("{}-seed{}", plan_.runs[i / seeds()].folder, seed_of(i));
  }

  const SweepFlags& flags_;
  SweepPlan& plan_;
  std::uint64_t first_seed_;
};

void run(SweepFlags& flags) {
  SweepPlan plan = plan_of(flags);
  if (flags.out.empty()) flags.out = "runs/sweep-" + file_part(settings_of(plan.base).name);
  check_data_of(plan);
  if (world().rank() == 0) claim_folder(flags, plan.base);
  world().barrier();
  const InterruptGuard guard;  // also between two runs
  SweepRuns runs(flags, plan);
  runs.train_share();
  std::int64_t signal = interrupt_signal();
  world().max({&signal, 1});  // waits for the others
  if (world().rank() != 0) return;
  if (signal != 0)
    throw Interrupted(static_cast<int>(signal), "interrupted; the same command goes on");
  runs.read_results();
  const RunSettings& base = settings_of(plan.base);
  write_table(flags.out, plan.table, fmt::format("{} on {}", base.network.name, base.data));
  print_table(plan.table, flags.is_json);
  if (!flags.is_json)
    fmt::print(
        "\n{0}/sweep.csv, {0}/sweep.svg; 'nibble report {0}/*/' lays the runs over each other\n",
        flags.out);
}

}  // namespace

void add_sweep(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("sweep", "train in many settings: one table, one picture");
  const auto flags = std::make_shared<SweepFlags>();
  verb.add_option("NETWORK|RECIPE", flags->recipe.what, "what to train, as for nibble train")
      ->type_name("")
      ->required();
  CLI::Option* formats =
      verb.add_option("--formats", flags->formats,
                      "formats of float training; the run without them is always there");
  verb.add_option("--roundings", flags->roundings, "nearest-even, stochastic, …");
  verb.add_option("--roles", flags->roles,
                  "what is rounded: weight activation error gradient (default), momentum,\n"
                  "update, master, accumulator");
  verb.add_option(
          "--vary", flags->varied,
          "any option below that decides numbers, and a value: mu=5 mu=4 shifts=delayed …;\n"
          "every value of one is tried with every value of the others")
      ->type_name("OPTION=VALUE")
      ->excludes(formats);
  verb.add_option("--twin", flags->twin,
                  "first row: the same run in floats, by the optimizer of this recipe, or by Adam\n"
                  "where it is a network")
      ->type_name("RECIPE")
      ->excludes(formats);
  verb.add_option("--seeds", flags->seeds, "runs a row (1), from --seed on")
      ->check(CLI::Range(1, kMostSeeds));
  add_train_flags(verb, flags->recipe);
  add_integer_flags(verb, flags->integers);
  verb.add_option("--out", flags->out,
                  "folder (runs/sweep-NAME); what is done there is not done again")
      ->type_name("DIR");
  verb.add_flag("--json", flags->is_json, "print JSON");
  verb.footer(
      "Under mpirun each process takes its share of the runs; the folder is one, and so is the "
      "table.\n\n"
      "Examples:\n"
      "  nibble sweep convnet-8x8 --data digits --formats e4m3 e5m2 'fixed(8,6)' --roundings "
      "nearest-even stochastic\n"
      "  nibble sweep mnist-lenet-fp32 --formats mxfp4 nvfp4 int4 --roles weight --seeds 3\n"
      "  nibble sweep mnist-lenet-int8 --vary mu={5,4,3} fraction-bits={0,8} --twin "
      "mnist-lenet-fp32\n"
      "  mpirun -n 4 nibble sweep digits-convnet-int8 --vary shift-rounding=error={nearest,"
      "stochastic} --seeds 5 --threads 1");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
