// SPDX-License-Identifier: Apache-2.0
// nibble sweep: formats × roundings × seeds of one training, one table and one picture.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "apps/nibble/verb.h"
#include "core/atomic_file.h"
#include "core/hash.h"
#include "core/name.h"
#include "epoch_loop/check_data.h"
#include "nibble/core/error.h"
#include "nibble/float_training/train.h"
#include "nibble/run_folder/interrupt.h"
#include "report/bar_chart.h"
#include "tasks/json.h"
#include "tasks/train_flags.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSeeds = 10'000;

struct SweepFlags {
  TrainFlags recipe;
  std::vector<std::string> formats;
  std::vector<std::string> roundings = {"nearest-even"};
  std::vector<std::string> roles = {"weight", "activation", "error", "gradient"};
  std::int64_t seeds = 1;
  std::string out;
  bool is_json = false;
};

// One cell of the table: a format with a rounding; fp32 has one cell.
struct Cell {
  std::string format;
  std::string rounding;
  std::vector<double> top1;  // one a seed
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::string folder_name(const Cell& cell, std::uint64_t seed) {
  const std::string name = cell.rounding.empty() ? cell.format : cell.format + "-" + cell.rounding;
  return fmt::format("{}-seed{}", file_part(name), seed);
}

// The first cell is what the others change: fp32, or the recipe with rules of its own.
std::vector<Cell> cells_of(const SweepFlags& flags, const PrecisionPolicy& base) {
  std::vector<Cell> cells = {{base.rules.empty() ? "fp32" : "recipe", "", {}}};
  for (const std::string& text : flags.formats) {
    const std::string format = to_string(parse_format(text));
    if (format == "fp32") continue;
    for (const std::string& rounding : flags.roundings) {
      const std::string canonical = to_string(parse_rounding(rounding));
      check_combination(parse_format(format), parse_rounding(rounding), Overflow::native);
      cells.push_back({format, canonical, {}});
    }
  }
  return cells;
}

PolicyRule rule_of(const SweepFlags& flags, const Cell& cell) {
  PolicyRule rule;
  rule.place = "--roles";
  for (const std::string& role : flags.roles) rule.roles.push_back(role_by_name(role));
  rule.rounding.precision.format = parse_format(cell.format);
  rule.rounding.precision.rounding = parse_rounding(cell.rounding);
  if (rule.roles == std::vector{Role::accumulator}) {
    rule.rounding.accumulator = accumulator_of(rule.rounding.precision.format);
    rule.rounding.accumulator->rounding = rule.rounding.precision.rounding;
  } else if (std::ranges::find(rule.roles, Role::accumulator) != rule.roles.end()) {
    throw Error("sweep", "--roles", "accumulator beside others",
                "accumulator alone, or others without it");
  }
  return rule;
}

// A run that is there is taken as it is, one that was interrupted goes on.
double accuracy(const Recipe& recipe, const fs::path& folder) {
  const auto read = [&] {
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
  };
  std::error_code ignored;
  if (fs::exists(folder / "summary.json", ignored)) return read();
  const TrainOptions options{
      .folder = folder, .mode = RunFolderMode::start_or_resume, .make_events = tensorboard_sink};
  train(recipe, options);
  if (interrupt_requested())
    throw Interrupted(interrupt_signal(), "interrupted; the same command goes on");
  return read();
}

PrecisionPolicy policy_of(const SweepFlags& flags, const PrecisionPolicy& base, const Cell& cell) {
  PrecisionPolicy policy = base;
  if (cell.rounding.empty()) return policy;
  policy.rules.push_back(rule_of(flags, cell));
  policy.name = cell.format + "/" + cell.rounding;
  return policy;
}

// What the last run would find wrong is said before the first one.
void check_all(const SweepFlags& flags, Recipe& recipe, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    check_policy(policy_of(flags, recipe.policy, cell), recipe.network);
  }
  const Dataset data = load_dataset(recipe.data, Split::train, {.image_size = recipe.image_size});
  check_data(recipe.network, data);
  recipe.data_hash = hex(hash_of(data));
}

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.stream() << text;
  file.commit();
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
void claim_folder(const SweepFlags& flags, const Recipe& recipe) {
  Json json = Json::parse(to_json(recipe));
  json["roles"] = flags.roles;
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
  write_text(path, json.dump(2) + "\n");
}

void write_results(const SweepFlags& flags, const std::vector<Cell>& cells,
                   const std::string& title) {
  std::string csv = "format,rounding,seeds,top1_mean,top1_deviation,top1\n";
  std::vector<BarGroup> groups;
  BarChart chart{
      .title = title, .x_label = "test error, %", .series = flags.roundings, .width = 640};
  for (const Cell& cell : cells) {
    std::string all;
    for (const double x : cell.top1) all += fmt::format("{}{}", all.empty() ? "" : " ", x);
    csv += fmt::format("\"{}\",{},{},{},{},{}\n", cell.format, cell.rounding, cell.top1.size(),
                       mean_of(cell.top1), deviation_of(cell.top1), all);
    if (groups.empty() || groups.back().name != cell.format) groups.push_back({cell.format, {}});
    groups.back().values.push_back(100 * (1 - mean_of(cell.top1)));
  }
  for (BarGroup& group : groups) group.values.resize(flags.roundings.size(), std::nan(""));
  write_text(fs::path(flags.out) / "sweep.csv", csv);
  write_text(fs::path(flags.out) / "sweep.svg", draw(chart, groups));
}

void print_table(const std::vector<Cell>& cells, bool is_json) {
  if (is_json) {
    Json list = Json::array();
    for (const Cell& cell : cells) {
      list.push_back({{"format", cell.format},
                      {"rounding", cell.rounding},
                      {"top1", cell.top1},
                      {"mean", mean_of(cell.top1)},
                      {"deviation", deviation_of(cell.top1)}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  const double base = mean_of(cells.front().top1);
  fmt::print("{:<24} {:<16} {:>8} {:>6}  {:>9}\n", "format", "rounding", "top-1 %", "±",
             fmt::format("to {}", cells.front().format));
  for (const Cell& cell : cells) {
    const double mean = mean_of(cell.top1);
    fmt::print("{:<24} {:<16} {:>8.2f} {:>6.2f}  {:>+9.2f}\n", cell.format, cell.rounding,
               100 * mean, 100 * deviation_of(cell.top1), 100 * (mean - base));
  }
}

void run(SweepFlags& flags) {
  Recipe recipe = recipe_of(flags.recipe);
  const PrecisionPolicy base = recipe.policy;
  if (flags.out.empty()) flags.out = "runs/sweep-" + file_part(recipe.name);
  std::vector<Cell> cells = cells_of(flags, base);
  check_all(flags, recipe, cells);
  claim_folder(flags, recipe);
  const InterruptGuard guard;  // also between two runs
  const std::uint64_t first_seed = recipe.seed;
  std::size_t done = 0;
  const std::size_t total = cells.size() * static_cast<std::size_t>(flags.seeds);
  for (Cell& cell : cells) {
    recipe.policy = policy_of(flags, base, cell);
    for (std::int64_t k = 0; k < flags.seeds; ++k) {
      recipe.seed = first_seed + static_cast<std::uint64_t>(k);
      fmt::print(stderr, "run {}/{}: {} {} seed {}\n", ++done, total, cell.format, cell.rounding,
                 recipe.seed);
      cell.top1.push_back(accuracy(recipe, fs::path(flags.out) / folder_name(cell, recipe.seed)));
    }
  }
  write_results(flags, cells, fmt::format("{} on {}", recipe.network.name, recipe.data));
  print_table(cells, flags.is_json);
  if (!flags.is_json)
    fmt::print(
        "\n{0}/sweep.csv, {0}/sweep.svg; 'nibble report {0}/*/' lays the runs over each other\n",
        flags.out);
}

}  // namespace

void add_sweep(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("sweep", "train in many formats: one table, one picture");
  const auto flags = std::make_shared<SweepFlags>();
  verb.add_option("NETWORK|RECIPE", flags->recipe.what, "what to train, as for nibble train")
      ->type_name("")
      ->required();
  verb.add_option("--formats", flags->formats, "the formats; fp32 is always there")->required();
  verb.add_option("--roundings", flags->roundings, "nearest-even, stochastic, …");
  verb.add_option("--roles", flags->roles,
                  "what is rounded: weight activation error gradient (default), momentum, update, "
                  "master, accumulator");
  verb.add_option("--seeds", flags->seeds, "runs a cell (1), from --seed on")
      ->check(CLI::Range(1, kMostSeeds));
  add_train_flags(verb, flags->recipe);
  verb.add_option("--out", flags->out,
                  "folder (runs/sweep-NAME); what is done there is not done again")
      ->type_name("DIR");
  verb.add_flag("--json", flags->is_json, "print JSON");
  verb.footer(
      "Examples:\n"
      "  nibble sweep convnet-8x8 --data digits --formats e4m3 e5m2 'fixed(8,6)' --roundings "
      "nearest-even stochastic\n"
      "  nibble sweep mnist-lenet-fp32 --formats mxfp4 nvfp4 int4 --roles weight --seeds 3");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
