// SPDX-License-Identifier: Apache-2.0
// Formats in words: their special values and their scales.
#pragma once

#include <string>
#include <vector>

#include "nibble/numerics/format.h"

namespace nibble {

std::vector<std::string> specials_of(const ElementInfo& info);
std::string specials_text(const ElementInfo& info);  // "inf, nan", or "none"
std::string scaling_text(const Scaling& scaling);

}  // namespace nibble
