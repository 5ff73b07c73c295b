// SPDX-License-Identifier: Apache-2.0
// What the host is in, for profilers of another make: nobody listens unless one is there.
#pragma once

#include <string>

namespace nibble::inline core {

struct HostRangeListener {
  void (*begin)(const char* name);
  void (*end)();
};

// For all threads, before any work; null: nobody.
void set_host_range_listener(const HostRangeListener* listener);
bool has_host_range_listener();

// One thing after the other: what was entered lasts until the next call.
void enter_host_range(const std::string& name);
void leave_host_range();

// Within what was entered.
class InnerHostRange {
 public:
  explicit InnerHostRange(const std::string& name);
  ~InnerHostRange();
  InnerHostRange(const InnerHostRange&) = delete;
  InnerHostRange& operator=(const InnerHostRange&) = delete;
};

}  // namespace nibble::inline core
