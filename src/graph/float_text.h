// SPDX-License-Identifier: Apache-2.0
// Floats in text: few digits, and the same float when read back through a double.
#pragma once

namespace nibble::inline graph {

// The double with the fewest digits whose nearest float is x.
double short_double(float x);

}  // namespace nibble::inline graph
