// SPDX-License-Identifier: Apache-2.0
// Convolutions of one channel to one.
#pragma once

#include "nibble/graph/op.h"

namespace nibble::inline graph {

// `channels` are those of the input.
inline bool is_depthwise(const Conv2d& conv, std::int64_t channels) {
  return conv.groups > 1 && conv.groups == channels && conv.channels == channels;
}

}  // namespace nibble::inline graph
