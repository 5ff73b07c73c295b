// SPDX-License-Identifier: Apache-2.0
// Sweeps: which runs there are, each of them, and their table.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "python/src/networks/bind.h"
#include "tasks/keyword_options.h"
#include "tasks/sweep_plan.h"

namespace nibble::python {
namespace {

namespace nb = nanobind;

struct SweepCall {
  const std::string& what;
  const std::optional<std::string>& network;  // as TOML, in place of `what`
  const std::vector<KeywordOption>& options;
  const std::string& folder;
};

// Whoever makes a run plans the sweep again: a plan is a function of the options.
void with_plan(const SweepCall& call,
               const std::function<void(const SweepFlags&, SweepPlan&)>& use) {
  const nb::gil_scoped_release others_may_run;
  SweepFlags flags;
  flags.recipe.what = call.what;
  if (call.network) flags.recipe.network = parse_network(*call.network, "network");
  flags.out = call.folder;
  with_keywords(
      "sweep", call.options, [&](CLI::App& verb) { add_sweep_flags(verb, flags); },
      [&](CLI::App&) {
        SweepPlan plan = plan_of(flags);
        use(flags, plan);
      });
}

// The axes; labels and the folder of every row; the first seed and how many there are.
nb::tuple planned(const std::string& what, const std::optional<std::string>& network,
                  const std::vector<KeywordOption>& options, const std::string& folder) {
  std::vector<std::string> axes;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> folders;
  std::uint64_t seed = 0;
  std::int64_t seeds = 0;
  with_plan({what, network, options, folder}, [&](const SweepFlags& flags, SweepPlan& plan) {
    check_data_of(plan);
    claim_folder(flags, plan);
    axes = plan.table.axes;
    for (const SweepRow& row : plan.table.rows) rows.push_back(row.labels);
    for (const PlannedRun& run : plan.runs) folders.push_back(run.folder);
    seed = settings_of(plan.base).seed;
    seeds = flags.seeds;
  });
  return nb::make_tuple(axes, rows, folders, seed, seeds);
}

// The signal that stopped the run, or 0.
int trained_row(const std::string& what, const std::optional<std::string>& network,
                const std::vector<KeywordOption>& options, std::size_t row, std::uint64_t seed,
                const std::string& folder, bool has_layer_statistics) {
  int signal = 0;
  with_plan({what, network, options, folder}, [&](const SweepFlags&, SweepPlan& plan) {
    if (row >= plan.runs.size())
      throw Error("sweep", "row", std::to_string(row), fmt::format("one of {}", plan.runs.size()));
    AnyRecipe& recipe = plan.runs[row].recipe;
    settings_of(recipe).seed = seed;
    signal = train_any(recipe, {.folder = folder,
                                .mode = RunFolderMode::start_or_resume,
                                .progress = ProgressStyle::silent,
                                .has_layer_statistics = has_layer_statistics,
                                .make_events = tensorboard_sink})
                 .stopped_by;
  });
  return signal;
}

// sweep.csv, sweep.svg and report.html; a list of results by seed for every row.
void table_written(const std::string& what, const std::optional<std::string>& network,
                   const std::vector<KeywordOption>& options, const std::string& folder,
                   const std::vector<std::vector<double>>& top1) {
  with_plan({what, network, options, folder}, [&](const SweepFlags&, SweepPlan& plan) {
    for (std::size_t i = 0; i < plan.runs.size(); ++i) plan.table.rows[i].top1 = top1.at(i);
    write_results(folder, plan);
  });
}

}  // namespace

void bind_sweep(nb::module_& module) {
  module.def("plan_sweep", planned, nb::arg("what"), nb::arg("network").none(), nb::arg("options"),
             nb::arg("folder"),
             nb::sig("def plan_sweep(what: str, network: str | None, "
                     "options: list[tuple[str, list[str]]], folder: str) -> "
                     "tuple[list[str], list[list[str]], list[str], int, int]"));
  module.def("train_row", trained_row, nb::arg("what"), nb::arg("network").none(),
             nb::arg("options"), nb::arg("row"), nb::arg("seed"), nb::arg("folder"),
             nb::arg("layer_statistics"),
             nb::sig("def train_row(what: str, network: str | None, "
                     "options: list[tuple[str, list[str]]], row: int, seed: int, folder: str, "
                     "layer_statistics: bool) -> int"));
  module.def("write_sweep", table_written, nb::arg("what"), nb::arg("network").none(),
             nb::arg("options"), nb::arg("folder"), nb::arg("top1"),
             nb::sig("def write_sweep(what: str, network: str | None, "
                     "options: list[tuple[str, list[str]]], folder: str, "
                     "top1: list[list[float]]) -> None"));
}

}  // namespace nibble::python
