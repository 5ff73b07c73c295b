// SPDX-License-Identifier: Apache-2.0
// The error of a network that is not possible: it names the node.
#pragma once

#include <string_view>

#include "core/name.h"  // in_quotes, for what the errors quote
#include "nibble/core/error.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

// "[network] node 'conv1' (conv2d): what: got X, expected Y"
[[noreturn]] void fail_node(const Node& node, std::string_view what, std::string_view got,
                            std::string_view expected, ErrorKind kind = ErrorKind::input);

}  // namespace nibble::inline graph
