// SPDX-License-Identifier: Apache-2.0
// Networks whose speed is measured.
#pragma once

#include <string>

#include "nibble/graph/network.h"

namespace nibble {

// The network of this name, its pictures normalized as if by the mean and deviation of a data set.
Network network_to_measure(const std::string& name_or_path, bool has_dropout);

}  // namespace nibble
