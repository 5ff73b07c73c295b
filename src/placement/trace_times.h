// SPDX-License-Identifier: Apache-2.0
// How long things take in traced steps, by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/step_trace.h"
#include "placement/costs.h"

namespace nibble::inline placement {

class TraceTimes {
 public:
  void add(const StepTrace& step);

  // Medians over the steps; 0: never seen.
  Nanoseconds on_host(const std::string& name) const { return median_in(host_, name); }
  Nanoseconds on_device(const std::string& name) const { return median_in(device_, name); }

  // latency + bytes · rate, by least squares over all copies; direction: "up", "down".
  LinkCost link(const std::string& direction) const;

 private:
  using Times = std::map<std::string, std::vector<Nanoseconds>>;
  struct Copy {
    double bytes;
    double time;
  };

  static Nanoseconds median_in(const Times& times, const std::string& name);

  Times host_;
  Times device_;
  std::map<std::string, std::vector<Copy>> copies_;  // by direction
};

}  // namespace nibble::inline placement
