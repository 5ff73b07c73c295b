// SPDX-License-Identifier: Apache-2.0
// The format of the integers that a fake quantization gives.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline quantization {

// Of at most 16 bits, with the grid in units of `step` as its values: int8(symmetric,scale=…),
// uint4(scale=…), uint8(scale=…,zero=…). Throws, naming the node, where the grid is no such format.
Precision grid_format(const Node& node, const FakeQuantize& grid, float step);

}  // namespace nibble::inline quantization
