// SPDX-License-Identifier: Apache-2.0
// What ran when within one step, for chrome://tracing and ui.perfetto.dev. One clock for all
// tracks; whole nanoseconds, so that who computes in integers can tell it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace nibble::inline core {

struct TraceSpan {
  std::string track;  // "host", "GPU": who was busy
  std::string name;
  std::int64_t begin = 0;  // ns since the trace began
  std::int64_t end = 0;
  std::map<std::string, std::string> details = {};  // of a copy: "bytes", "direction", "memory"
};

class StepTrace {
 public:
  static constexpr const char* kHost = "host";

  StepTrace();

  std::int64_t now() const;
  void add(TraceSpan span) { spans_.push_back(std::move(span)); }

  // Of the host: one thing after the other. What was entered lasts until the next call.
  void enter(std::string name);
  void leave();
  const std::string& open() const { return open_; }  // what the host is in; empty: nothing

  const std::vector<TraceSpan>& spans() const { return spans_; }
  // From the first begin of a track to its last end, and how much of it something ran; ns.
  std::int64_t length_of(const std::string& track) const;
  std::int64_t busy_of(const std::string& track) const;

  // As JSON, with these words about it.
  void write(const std::filesystem::path& path, const std::string& about) const;

 private:
  std::int64_t start_;
  std::string open_;
  std::int64_t open_since_ = 0;
  std::vector<TraceSpan> spans_;
};

}  // namespace nibble::inline core
