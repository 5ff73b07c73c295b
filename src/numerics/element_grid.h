// SPDX-License-Identifier: Apache-2.0
// Fixed point and integers: the multiples of a power of two.
#pragma once

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

ElementInfo describe_element(const GridElement& element);
void check_element(const GridElement& element);
std::uint32_t encode_element(const GridElement& element, double value);
double decode_element(const GridElement& element, std::uint32_t code);

}  // namespace nibble::inline numerics
