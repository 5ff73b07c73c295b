// SPDX-License-Identifier: Apache-2.0
// An accelerator for machines that have none: the CPU's operations on a thread of their own, in
// order, while the host goes on; copies to and from the host take as long as they are told to. With
// it plans, overlap and faults are tested without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace nibble::inline backend {

struct PretendOptions {
  std::int64_t copy_microseconds = 0;        // of every copy
  std::int64_t copy_picoseconds_a_byte = 0;  // and of every byte of it
  std::int64_t slowdown = 1;                 // how often an operation's own time passes
  std::int64_t lost_after = 0;               // operations until the device is gone; 0: never
  std::int64_t memory = 0;                   // bytes that it has; 0: as many as are asked for
  bool operator==(const PretendOptions&) const = default;
};

// "copy_us=20,ps_a_byte=500,slowdown=2,lost_after=1000,memory=1000000"
PretendOptions parse_pretend(std::string_view text);

// What NIBBLE_PRETEND says, else nothing of it.
PretendOptions pretend_options();

// The device's name, and how quick it is.
std::string pretend_identity(PretendOptions options);

std::unique_ptr<IntegerBackend> make_pretend_backend(const PretendOptions& options);

}  // namespace nibble::inline backend
