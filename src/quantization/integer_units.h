// SPDX-License-Identifier: Apache-2.0
// What the integers of a fake-quantized network count in.
#pragma once

#include <cstddef>
#include <vector>

#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

// An operand of an add that is brought to another unit.
struct UnitChange {
  std::size_t add = 0;  // the node
  std::size_t operand = 0;
  std::vector<double> unit;
};
std::vector<UnitChange> unit_changes_of(const Model& fake_quantized, IntegerForm form);

// By node: the unit of its integers, one for all or one a channel.
std::vector<std::vector<double>> units_of(const Model& fake_quantized);

}  // namespace nibble::inline quantization
