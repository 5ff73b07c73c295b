// SPDX-License-Identifier: Apache-2.0
// Sums spans of one name within a step; the next step has a sum of its own.
#include "placement/trace_times.h"

#include <algorithm>
#include <cmath>

#include "placement/planned_work.h"

namespace nibble::inline placement {

void TraceTimes::add(const StepTrace& step) {
  std::map<std::string, Nanoseconds> host;
  std::map<std::string, Nanoseconds> device;
  for (const TraceSpan& span : step.spans()) {
    const Nanoseconds time = span.end - span.begin;
    if (span.track == StepTrace::kHost) {
      host[span.name] += time;
    } else if (const auto direction = span.details.find("direction");
               direction != span.details.end()) {
      copies_[direction->second].push_back(
          {std::stod(span.details.at("bytes")), static_cast<double>(time)});
    } else {
      device[span.name] += time;
    }
  }
  for (const auto& [name, time] : host) host_[name].push_back(time);
  for (const auto& [name, time] : device) device_[name].push_back(time);
}

Nanoseconds TraceTimes::median_in(const Times& times, const std::string& name) {
  const auto found = times.find(name);
  return found == times.end() ? 0 : median_of(found->second);
}

LinkCost TraceTimes::link(const std::string& direction) const {
  const auto found = copies_.find(direction);
  if (found == copies_.end()) return {};
  const auto count = static_cast<double>(found->second.size());
  double bytes = 0;
  double time = 0;
  for (const Copy& each : found->second) {
    bytes += each.bytes / count;
    time += each.time / count;
  }
  double squares = 0;
  double products = 0;
  for (const Copy& each : found->second) {
    squares += (each.bytes - bytes) * (each.bytes - bytes);
    products += (each.bytes - bytes) * (each.time - time);
  }
  const double rate = squares > 0 ? std::max(products / squares, 0.0) : 0.0;
  return {std::max<Nanoseconds>(std::llround(time - rate * bytes), 0), std::llround(1000 * rate)};
}

}  // namespace nibble::inline placement
