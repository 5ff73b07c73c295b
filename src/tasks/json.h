// SPDX-License-Identifier: Apache-2.0
// What JSON cannot say: infinities and NaN, which become strings.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace nibble::inline tasks {

using Json = nlohmann::ordered_json;

inline Json json_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

}  // namespace nibble::inline tasks
