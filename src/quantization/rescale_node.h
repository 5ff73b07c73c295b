// SPDX-License-Identifier: Apache-2.0
// A rescale node of real factors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/model_writer.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

struct RescaleNode {
  std::string name;
  std::size_t input = 0;
  std::int64_t low = -127;
  std::int64_t high = 127;
  Precision value;
  std::vector<double> factors = {};  // one for all, or one a channel
};

// One multiplier where all factors are equal.
std::size_t add_rescale(ModelWriter& to, RescaleNode rescale, IntegerForm form);

}  // namespace nibble::inline quantization
