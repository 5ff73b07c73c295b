// SPDX-License-Identifier: Apache-2.0
// What a thread does that waits for another one without giving its core away.
#pragma once

namespace nibble::inline core {

// Between two looks at what it waits for: leaves the core's resources to its neighbour.
inline void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace nibble::inline core
