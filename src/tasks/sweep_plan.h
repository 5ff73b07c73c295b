// SPDX-License-Identifier: Apache-2.0
// Which runs nibble sweep makes (formats with roundings, or any options of nibble train) and what
// it tells of them: a row for each setting, over seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tasks/any_recipe.h"

namespace CLI {
class App;
}

namespace nibble::inline tasks {

struct SweepRow {
  std::vector<std::string> labels;  // one an axis; empty where the axis does not apply
  std::vector<double> top1;         // one a seed
};

struct SweepTable {
  std::vector<std::string> axes;
  std::vector<SweepRow> rows;
};

// sweep.csv and sweep.svg.
void write_table(const std::filesystem::path& folder, const SweepTable& table,
                 const std::string& title);

void print_table(const SweepTable& table, bool is_json);

struct SweepFlags {
  TrainFlags recipe;
  IntegerFlags integers;
  std::vector<std::string> formats;
  std::vector<std::string> roundings = {"nearest-even"};
  std::vector<std::string> roles = {"weight", "activation", "error", "gradient"};
  std::vector<std::string> varied;  // OPTION=VALUE
  std::string twin;                 // what is trained in floats for the first row
  std::int64_t seeds = 1;
  std::string out;
};

// What is varied, how often, and the options of nibble train.
void add_sweep_flags(CLI::App& verb, SweepFlags& flags);

struct PlannedRun {
  std::string folder;  // without the seed
  AnyRecipe recipe;
};

struct SweepPlan {
  AnyRecipe base;                // what the runs change
  SweepTable table;              // rows without results
  std::vector<PlannedRun> runs;  // one a row
};

SweepPlan plan_of(const SweepFlags& flags);

// What the last run would find wrong with its data is said before the first one, and that none of
// it gives an accuracy.
void check_data_of(SweepPlan& plan);

// Makes the folder; one of another sweep is refused.
void claim_folder(const SweepFlags& flags, const SweepPlan& plan);

// The folder of the n-th run of a row.
std::filesystem::path folder_of(const SweepPlan& plan, const std::filesystem::path& sweep,
                                std::size_t row, std::size_t n);

// Once all rows have their results: the table, and report.html, all runs over each other.
void write_results(const std::filesystem::path& sweep, const SweepPlan& plan);

}  // namespace nibble::inline tasks
