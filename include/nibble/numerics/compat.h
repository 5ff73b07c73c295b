// SPDX-License-Identifier: Apache-2.0
// Reproduces other packages' arithmetic, so that old experiments can be run again.
#pragma once

#include <cstdint>
#include <string_view>

namespace nibble::inline numerics {

enum class Compat : std::uint8_t {
  none,         // Nibble's own definitions
  qtorch,       // QPyTorch 0.3.0 on the CPU: its value-level rules
  qtorch_bits,  // the same including its double rounding through an fp32 addition
  qtorch_plus,  // the posit fork: floats of 0.2.0, posits, tables
};

Compat parse_compat(std::string_view text);  // "none", "qtorch", "qtorch-bits", "qtorch+"
std::string_view to_string(Compat compat);

}  // namespace nibble::inline numerics
