// SPDX-License-Identifier: Apache-2.0
// Codebooks: a table of values, the code its index.
#pragma once

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

ElementInfo describe_element(const CodebookElement& element);
void check_element(const CodebookElement& element);
double round_element(const CodebookElement& element, double x, const Rounding& rounding,
                     Overflow overflow, std::uint32_t draw);
std::uint32_t encode_element(const CodebookElement& element, double value);
double decode_element(const CodebookElement& element, std::uint32_t code);

}  // namespace nibble::inline numerics
