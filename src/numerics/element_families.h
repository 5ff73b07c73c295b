// SPDX-License-Identifier: Apache-2.0
// What every family of elements gives: its numbers described, checked, encoded, decoded.
#pragma once

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

// Floats of any split, bias and specials.
ElementInfo describe_element(const FloatElement& element);
void check_element(const FloatElement& element);
std::uint32_t encode_element(const FloatElement& element, double value);
double decode_element(const FloatElement& element, std::uint32_t code);

// Fixed point and integers: the multiples of a power of two.
ElementInfo describe_element(const GridElement& element);
void check_element(const GridElement& element);
std::uint32_t encode_element(const GridElement& element, double value);
double decode_element(const GridElement& element, std::uint32_t code);

// Posits (2022 standard, any es): sign, run-length regime, exponent, fraction.
ElementInfo describe_element(const PositElement& element);
void check_element(const PositElement& element);
std::uint32_t encode_element(const PositElement& element, double value);
double decode_element(const PositElement& element, std::uint32_t code);

// Codebooks: a table of values, the code its index.
ElementInfo describe_element(const CodebookElement& element);
void check_element(const CodebookElement& element);
double round_element(const CodebookElement& element, double x, const Rounding& rounding,
                     Overflow overflow, std::uint32_t draw);
std::uint32_t encode_element(const CodebookElement& element, double value);
double decode_element(const CodebookElement& element, std::uint32_t code);

}  // namespace nibble::inline numerics
