// SPDX-License-Identifier: Apache-2.0
// Traces as Chrome's trace events: complete events ("X") in microseconds, a thread a track.
#include "core/step_trace.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text_file.h"

namespace nibble::inline core {
namespace {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double microseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1000.0;
}

}  // namespace

StepTrace::StepTrace() : start_(steady_ns()) {}

std::int64_t StepTrace::now() const {
  return steady_ns() - start_;
}

void StepTrace::enter(std::string name) {
  leave();
  open_ = std::move(name);
  open_since_ = now();
}

void StepTrace::leave() {
  if (!open_.empty()) add({kHost, std::exchange(open_, {}), open_since_, now()});
}

std::int64_t StepTrace::length_of(const std::string& track) const {
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  for (const TraceSpan& each : spans_) {
    if (each.track != track) continue;
    first = std::min(first, each.begin);
    last = std::max(last, each.end);
  }
  return first < last ? last - first : 0;
}

std::int64_t StepTrace::busy_of(const std::string& track) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const TraceSpan& each : spans_) {
    if (each.track == track) spans.emplace_back(each.begin, each.end);
  }
  std::ranges::sort(spans);
  std::int64_t busy = 0;
  std::int64_t reached = INT64_MIN;
  for (const auto& [begin, end] : spans) {
    if (end > reached) busy += end - std::max(begin, reached);
    reached = std::max(reached, end);
  }
  return busy;
}

void StepTrace::write(const std::filesystem::path& path, const std::string& about) const {
  using Json = nlohmann::ordered_json;
  std::map<std::string, int> tracks;  // by name, so that files of the same step look alike
  for (const TraceSpan& each : spans_) tracks.emplace(each.track, 0);
  Json events = Json::array();
  int number = 0;
  for (auto& [track, thread] : tracks) {
    thread = number++;
    events.push_back({{"ph", "M"},
                      {"pid", 0},
                      {"tid", thread},
                      {"name", "thread_name"},
                      {"args", {{"name", track}}}});
  }
  for (const TraceSpan& each : spans_) {
    events.push_back({{"ph", "X"},
                      {"pid", 0},
                      {"tid", tracks.at(each.track)},
                      {"name", each.name},
                      {"ts", microseconds(each.begin)},
                      {"dur", microseconds(each.end - each.begin)}});
    if (!each.details.empty()) events.back()["args"] = each.details;
  }
  const Json file{{"traceEvents", std::move(events)},
                  {"displayTimeUnit", "ns"},
                  {"otherData", {{"about", about}}}};
  write_text_file(path, file.dump() + '\n');
}

}  // namespace nibble::inline core
