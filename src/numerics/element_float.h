// SPDX-License-Identifier: Apache-2.0
// Floats of any split, bias and specials.
#pragma once

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

ElementInfo describe_element(const FloatElement& element);
void check_element(const FloatElement& element);
std::uint32_t encode_element(const FloatElement& element, double value);
double decode_element(const FloatElement& element, std::uint32_t code);

}  // namespace nibble::inline numerics
