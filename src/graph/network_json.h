// SPDX-License-Identifier: Apache-2.0
// Networks in JSON, the form that model files hold: every number is there, nothing is implied.
#pragma once

#include <string>
#include <string_view>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

std::string to_json(const Network& network);

// Strict: all keys, no others. `source` is used in errors. The network is checked.
Network network_from_json(std::string_view text, const std::string& source);

// How texts write floats: the double with the fewest digits whose nearest float is x.
double short_double(float x);

}  // namespace nibble::inline graph
