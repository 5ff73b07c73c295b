// SPDX-License-Identifier: Apache-2.0
// Parameters of integer networks as plain integers, packed or not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// The format of its weight where that is integers of less than 8 bits, otherwise none.
const GridElement* narrow_weight(const Node& node);

// Any integer tensor; throws, naming it, where the tensor is none.
std::vector<std::int64_t> integers_of(const Parameter& parameter, const Tensor& tensor);

// A weight, packed or not; throws where an integer is beyond -128 … 127.
std::vector<std::int8_t> weights_of(const Network& network, const Parameter& parameter,
                                    const Tensor& tensor);

// Two's complement of a few bits one after another, least significant bit first.
std::vector<std::uint8_t> packed_weights(std::span<const std::int8_t> values, int bits);

}  // namespace nibble::inline graph
