// SPDX-License-Identifier: Apache-2.0
// An accelerator for machines that have none: the CPU's operations on a thread of their own, in
// order, while the host goes on; copies to and from the host take as long as they are told to. With
// it plans, overlap and faults are tested without a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace nibble::inline backend {

struct PretendCopies {
  std::int64_t microseconds = 0;        // of every copy
  std::int64_t picoseconds_a_byte = 0;  // and of every byte of it
  bool operator==(const PretendCopies&) const = default;
};

struct PretendOptions {
  PretendCopies copies;
  std::array<PretendCopies, 3> more = {};  // on top, by the memory of the host: a WireKind
  std::int64_t slowdown = 1;               // how often an operation's own time passes
  std::int64_t lost_after = 0;             // operations until the device is gone; 0: never
  std::int64_t memory = 0;                 // bytes that it has; 0: as many as are asked for
  bool operator==(const PretendOptions&) const = default;
};

// "copy_us=20,ps_a_byte=500,pageable_us=30,slowdown=2,lost_after=1000,memory=1000000"
PretendOptions parse_pretend(std::string_view text);

// What NIBBLE_PRETEND says, else nothing of it.
PretendOptions pretend_options();

// The device's name, and how quick it is.
std::string pretend_identity(PretendOptions options);

std::unique_ptr<IntegerBackend> make_pretend_backend(const PretendOptions& options);

}  // namespace nibble::inline backend
