// SPDX-License-Identifier: Apache-2.0
// What the integers of a network stand for: real number = integer·unit.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

using Units = std::vector<double>;  // one for all channels, or one a channel

// The integers of a value's format, where it has one of at most 8 bits.
struct CodeFormat {
  float scale = 1;
  int zero = 0;
  bool is_signed = false;

  std::int64_t least() const { return (is_signed ? -128 : 0) - zero; }  // of bytes, less the zero
  std::int64_t most() const { return (is_signed ? 127 : 255) - zero; }
};
std::optional<CodeFormat> code_format(const Precision& precision);

// The real factors multiplier / 2^shift of a rescale.
Units factors_of(const Rescale& op, const std::vector<std::int64_t>& multipliers);

// By node. A format says the unit of its value; the unit of exact sums is the one with which the
// rescale after them changes no real number. What nobody says is 1.
std::vector<Units> wanted_units(const Model& model);

}  // namespace nibble::inline foreign
