// SPDX-License-Identifier: Apache-2.0
// Ranges of the host.
#include "core/host_ranges.h"

namespace nibble::inline core {
namespace {

const HostRangeListener* told = nullptr;
thread_local bool is_in_range = false;

}  // namespace

void set_host_range_listener(const HostRangeListener* listener) {
  told = listener;
}

bool has_host_range_listener() {
  return told != nullptr;
}

void enter_host_range(const std::string& name) {
  leave_host_range();
  if (told == nullptr) return;
  told->begin(name.c_str());
  is_in_range = true;
}

void leave_host_range() {
  if (is_in_range && told != nullptr) told->end();
  is_in_range = false;
}

InnerHostRange::InnerHostRange(const std::string& name) {
  if (told != nullptr) told->begin(name.c_str());
}

InnerHostRange::~InnerHostRange() {
  if (told != nullptr) told->end();
}

}  // namespace nibble::inline core
