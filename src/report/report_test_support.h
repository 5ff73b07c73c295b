// SPDX-License-Identifier: Apache-2.0
// What the tests of this module share.
#pragma once

#include <string_view>

#include "core/test_support.h"

namespace nibble::inline report {

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

}  // namespace nibble::inline report
