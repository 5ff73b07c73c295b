// SPDX-License-Identifier: Apache-2.0
// Refuses a root that no rank has.
#pragma once

#include <string>

#include "nibble/core/error.h"

namespace nibble {

inline void check_root(int root, int size) {
  if (root >= 0 && root < size) return;
  throw Error("broadcast", "root", std::to_string(root), "0 to " + std::to_string(size - 1));
}

}  // namespace nibble
