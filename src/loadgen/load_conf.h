// SPDX-License-Identifier: Apache-2.0
// The configuration of a run as one text for LoadGen's own reader: the user's file, then what was
// said on the command line, then what is measured where neither says it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

class LoadConf {
 public:
  // `text` is the user's file, empty without one; `benchmark` names whose rules hold, "resnet50".
  LoadConf(std::string text, std::string benchmark, Scenario scenario);

  // "target_qps=900": a key of user.conf, which wins over the file. Throws where LoadGen's reader
  // would overlook it: it knows no such key, not in this scenario, or takes no such value.
  void set(std::string_view setting);
  void set(std::string_view key, double value);

  // Whether a line for this run's scenario and benchmark has the key.
  bool has(std::string_view key) const;

  // Throws where LoadGen would overlook a line that seems to be meant for this run, or not take its
  // value as it is written, and where no run can have it: `name` is the file. Lines for other
  // benchmarks and scenarios are not looked at.
  void check(const std::string& name) const;

  const std::string& text() const { return text_; }
  const std::string& benchmark() const { return benchmark_; }

 private:
  // "benchmark.scenario.key = value"
  struct Line {
    int number = 0;
    std::string benchmark;
    std::string scenario;
    std::string key;
    std::vector<std::string> values;
  };

  std::vector<Line> lines() const;      // those with values
  bool counts(const Line& line) const;  // LoadGen looks it up in this run
  void check_line(const std::string& where, const Line& line) const;

  std::string text_;
  std::string benchmark_;
  std::string scenario_;
};

}  // namespace nibble::inline loadgen
