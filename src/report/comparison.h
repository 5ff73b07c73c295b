// SPDX-License-Identifier: Apache-2.0
// Runs side by side: settings, results, weights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/run_record.h"

namespace nibble::inline report {

struct ComparedSetting {
  std::string key = {};
  std::vector<std::string> values = {};  // one a run, "" where it has none
  bool is_different = false;
};

struct ComparedResult {
  std::string name = {};  // "test_top1"
  std::vector<double> values = {};
  std::vector<std::string> texts = {};  // "97.31 %", "" where there is none
};

struct Comparison {
  std::vector<std::string> runs = {};  // a name each, all different
  std::vector<ComparedSetting> settings = {};
  std::vector<ComparedResult> results = {};      // those that any run has
  std::vector<std::string> weights_hashes = {};  // "" of a run that told none

  enum class Weights { equal, different, unknown };
  Weights weights = Weights::unknown;  // of all runs
};

Comparison compare(const std::vector<RunRecord>& runs);

// For people: settings that differ, results, and whether the weights are the same bits.
std::string comparison_table(const std::vector<RunRecord>& runs);

// Names of folders, or the paths where those are not all different.
std::vector<std::string> distinct_names(const std::vector<RunRecord>& runs);

}  // namespace nibble::inline report
