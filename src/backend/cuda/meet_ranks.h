// SPDX-License-Identifier: Apache-2.0
// Numbers of a GPU meet those of other ranks: where they lie, when nothing that was launched writes
// them any more, or else in pinned memory of the host.
#pragma once

#include <span>

#include "backend/cuda/device_queue.h"
#include "nibble/cluster/communicator.h"

namespace nibble::cuda {

// `join` takes a span of the numbers and hands it to the cluster, without looking at them itself.
template <class Number, class Join>
void meet_ranks(DeviceQueue& queue, const Communicator& cluster, Number* numbers, std::size_t count,
                const Join& join) {
  if (!cluster.takes_device_memory()) return queue.change(numbers, count, join);
  queue.wait();
  join(std::span(numbers, count));
}

}  // namespace nibble::cuda
