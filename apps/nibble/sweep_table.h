// SPDX-License-Identifier: Apache-2.0
// What nibble sweep tells: a row for each setting, over seeds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nibble {

struct SweepRow {
  std::vector<std::string> labels;  // one an axis; empty where the axis does not apply
  std::vector<double> top1;         // one a seed
};

struct SweepTable {
  std::vector<std::string> axes;
  std::vector<SweepRow> rows;
};

// sweep.csv and sweep.svg
void write_table(const std::filesystem::path& folder, const SweepTable& table,
                 const std::string& title);

void print_table(const SweepTable& table, bool is_json);

}  // namespace nibble
