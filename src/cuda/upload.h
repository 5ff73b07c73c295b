// SPDX-License-Identifier: Apache-2.0
// Small tables to a GPU by way of kernel parameters: no pinned memory, no waiting, capturable.
#pragma once

#include <cstddef>

#include "nibble/cuda/device.h"

namespace nibble::cuda {

// Queues the bytes; `from` may change once the call is over. `to` is aligned to 4 bytes.
void upload(void* to, const void* from, std::size_t bytes, const Place& place);

}  // namespace nibble::cuda
