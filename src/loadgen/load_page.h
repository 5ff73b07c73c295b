// SPDX-License-Identifier: Apache-2.0
// Runs of LoadGen as one HTML page that needs nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loadgen/load_result.h"
#include "loadgen/scenario.h"
#include "report/line_chart.h"

namespace nibble::inline loadgen {

struct LoadRecord {
  std::string name;  // of the folder
  Scenario scenario = Scenario::offline;
  std::string model;
  std::string mode;
  std::string settings;  // "batches of 64, 1 × 2 threads"
  LoadResult result;
  // Over seconds, from slices.csv; by size, from batches.csv; by ms, from latencies.csv. Empty
  // where a run did not end.
  std::vector<ChartPoint> rate = {}, batch = {}, waiting = {}, busy = {};
  std::vector<ChartPoint> sizes = {}, latencies = {};
};
LoadRecord read_load_record(const std::filesystem::path& folder);

std::string load_page(const std::vector<LoadRecord>& runs);

}  // namespace nibble::inline loadgen
