// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU for callers without an allocator of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "nibble/cuda/device.h"

namespace nibble::cuda {

// Given back with its last owner, after all work of the device that may still use it.
std::shared_ptr<void> allocate(std::size_t bytes, int device);

// Of the device, that nobody has; 0 where it does not say, or is lost.
std::int64_t free_bytes(const Place& place);

// Between host and device in either direction, after what was queued there; returns when it is
// done.
void copy(void* to, const void* from, std::size_t bytes, const Place& place);

}  // namespace nibble::cuda
