// SPDX-License-Identifier: Apache-2.0
// What the host is in, told to whoever wants to know: the trace of a step, and profilers of another
// make.
#pragma once

#include <string>

#include "core/host_ranges.h"
#include "core/step_trace.h"

namespace nibble::inline core {

class HostTrace {
 public:
  void set_trace(StepTrace* trace) { trace_ = trace; }  // null: none
  bool is_on() const { return trace_ != nullptr || has_host_range_listener(); }

  // One thing after the other: what was entered lasts until the next call.
  void enter(const std::string& what) const {
    if (trace_ != nullptr) trace_->enter(what);
    enter_host_range(what);
  }
  void leave() const {
    if (trace_ != nullptr) trace_->leave();
    leave_host_range();
  }
  // Within what the host is in, which goes on afterwards.
  template <class Body>
  void within(const std::string& what, const Body& body) const {
    const InnerHostRange range(what);
    if (trace_ == nullptr) return body();
    const std::string before = trace_->open();
    trace_->enter(what);
    body();
    trace_->leave();
    if (!before.empty()) trace_->enter(before);
  }

 private:
  StepTrace* trace_ = nullptr;
};

}  // namespace nibble::inline core
