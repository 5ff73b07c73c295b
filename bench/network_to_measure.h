// SPDX-License-Identifier: Apache-2.0
// One batch of random pictures with random labels, for networks whose speed is measured.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"

namespace nibble {

// The network of this name, its pictures normalized as if by the mean and deviation of a data set.
Network network_to_measure(const std::string& name_or_path, bool has_dropout);

Dataset random_batch(const Network& network, std::int64_t images);

}  // namespace nibble
