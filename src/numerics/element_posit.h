// SPDX-License-Identifier: Apache-2.0
// Posits (2022 standard, any es): sign, run-length regime, exponent, fraction.
#pragma once

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

ElementInfo describe_element(const PositElement& element);
void check_element(const PositElement& element);
std::uint32_t encode_element(const PositElement& element, double value);
double decode_element(const PositElement& element, std::uint32_t code);

}  // namespace nibble::inline numerics
