// SPDX-License-Identifier: Apache-2.0
// One layer of the TOML form: its operation, its precisions and the name it gets without one.
#pragma once

#include <string>
#include <string_view>

#include "graph/toml_reader.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Reads all numbers of the operation; `in` is the shape of its first input.
Op read_op(TomlReader& layer, std::string_view name, const Shape& in);

// The keys PREFIXformat, PREFIXrounding and PREFIXoverflow.
Precision read_precision(TomlReader& table, const std::string& prefix);

// "conv" for conv2d and depthwise, "pool" for all pools, … to be numbered.
std::string_view name_stem(std::string_view op);

}  // namespace nibble::inline graph
