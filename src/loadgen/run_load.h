// SPDX-License-Identifier: Apache-2.0
// One run of LoadGen: a model, data, a scenario, a folder for its logs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "loadgen/load_result.h"
#include "loadgen/scenario.h"
#include "nibble/engine/engine_buffer.h"
#include "nibble/run_folder/progress.h"

namespace nibble::inline loadgen {

struct LoadRunOptions {
  std::filesystem::path model = {};
  std::string data = {};  // a data set by name or path, or a folder with val_map.txt
  std::string split = "test";
  std::int64_t image_size = 0;
  bool skips_broken = false;
  std::filesystem::path out = {};  // which must not hold a run

  Scenario scenario = Scenario::offline;
  LoadMode mode = LoadMode::performance;
  std::filesystem::path user_conf = {};    // empty: ten seconds, no submission
  std::filesystem::path audit = {};        // an audit.config; empty: none is read
  std::string benchmark = "resnet50";      // whose rules of mlperf.conf hold
  std::vector<std::string> settings = {};  // "KEY=NUMBER", see LoadConf

  std::string device = "cpu";
  std::vector<std::string> devices_beside = {};  // which take batches as well, when they are free
  BufferPlace start_from = BufferPlace::host;    // where samples lie when time begins
  int threads = 0;                               // 0: all
  std::int64_t batch = 0;  // the largest; 0: what a short measurement finds best
  bool logs_five = false;  // five classes an answer, the best first, instead of one
  ProgressStyle progress = ProgressStyle::automatic;
};

// False: this build has no LoadGen, and run_load says so.
bool has_loadgen();

// Blocks until LoadGen has ended. Logs and the files of ours are in `out`. A model or data that
// fails, and a signal, end the run: logs are closed, and what happened is thrown.
LoadResult run_load(const LoadRunOptions& options);

}  // namespace nibble::inline loadgen
