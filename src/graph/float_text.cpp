// SPDX-License-Identifier: Apache-2.0
// Chooses the double that a float is written as.
#include "graph/float_text.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace nibble::inline graph {

double short_double(float x) {
  // Through a double a decimal is rounded twice, which in rare cases leads elsewhere.
  const double rounded = std::strtod(fmt::format("{}", x).c_str(), nullptr);
  return static_cast<float>(rounded) == x ? rounded : static_cast<double>(x);
}

}  // namespace nibble::inline graph
