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
  std::string machine;   // "cpu of AMD EPYC, 2 threads"
  std::string settings;  // "batches up to 64, …"
  LoadResult result;
  // Over seconds, from slices.csv; by size, from batches.csv; % of the samples by ms, from
  // latencies.csv, with a 0 on either side of those that nobody had. Empty where a run did not end.
  std::vector<ChartPoint> rate = {}, batch = {}, waiting = {}, busy = {}, device_busy = {};
  std::vector<ChartPoint> sizes = {}, latencies = {};
};
LoadRecord read_load_record(const std::filesystem::path& folder);

std::string load_page(const std::vector<LoadRecord>& runs);

}  // namespace nibble::inline loadgen
