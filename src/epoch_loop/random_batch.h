// SPDX-License-Identifier: Apache-2.0
// One batch of random pictures with random labels, for networks whose speed is measured.
#pragma once

#include <cstdint>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"

namespace nibble::inline epoch_loop {

Dataset random_batch(const Network& network, std::int64_t images);

}  // namespace nibble::inline epoch_loop
