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

#include "apps/nibble/verb.h"
#include "core/name.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"
#include "nibble/run_folder/interrupt.h"
#include "tasks/json.h"
#include "tasks/sweep_plan.h"
#include "tasks/train_flags.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

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
  train_any(recipe, options);
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
    return tasks::folder_of(plan_, flags_.out, i / seeds(), i % seeds());
  }

  const SweepFlags& flags_;
  SweepPlan& plan_;
  std::uint64_t first_seed_;
};

void run(SweepFlags& flags, bool is_json) {
  SweepPlan plan = plan_of(flags);
  if (flags.out.empty()) flags.out = "runs/sweep-" + file_part(settings_of(plan.base).name);
  check_data_of(plan);
  if (world().rank() == 0) claim_folder(flags, plan);
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
  write_results(flags.out, plan);
  print_table(plan.table, is_json);
  if (!is_json)
    fmt::print("\n{0}/sweep.csv, {0}/sweep.svg, {0}/report.html: all runs over each other\n",
               flags.out);
}

}  // namespace

void add_sweep(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("sweep", "train in many settings: one table, one picture");
  const auto flags = std::make_shared<SweepFlags>();
  const auto is_json = std::make_shared<bool>(false);
  verb.add_option("NETWORK|RECIPE", flags->recipe.what, "what to train, as for nibble train")
      ->type_name("")
      ->required();
  add_sweep_flags(verb, *flags);
  verb.add_option("--out", flags->out,
                  "folder (runs/sweep-NAME); what is done there is not done again")
      ->type_name("DIR");
  verb.add_flag("--json", *is_json, "print JSON");
  verb.footer(
      "Under mpirun each process takes its share of the runs; the folder is one, and so is the "
      "table.\n\n"
      "Examples:\n"
      "  nibble sweep convnet-8x8 --data digits --formats e4m3 e5m2 'fixed(8,6)' --roundings "
      "nearest-even stochastic\n"
      "  nibble sweep mnist-lenet-fp32 --formats mxfp4 nvfp4 int4 --roles weight --seeds 3\n"
      "  nibble sweep mnist-lenet-int8 --vary mu={5,4,3} fraction-bits={0,8} --twin "
      "mnist-lenet-fp32\n"
      "  nibble sweep mnist-mlp-int8 --seeds 3 --twin mnist-mlp-twin-fp32\n"
      "  mpirun -n 4 nibble sweep digits-convnet-int8 --vary shift-rounding=error={nearest,"
      "stochastic} --seeds 5 --threads 1");
  verb.callback([flags, is_json] { run(*flags, *is_json); });
}

}  // namespace nibble
