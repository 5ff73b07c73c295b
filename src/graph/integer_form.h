// SPDX-License-Identifier: Apache-2.0
// An integer-trained network with its rounding written out: exact sums and rescale nodes.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Networks whose values have int8 formats with powers of two as scales (what integer training
// writes) become networks of integers alone: a layer NAME that rounds becomes NAME.sum, exact, and
// the rescale NAME with the frozen shift. Losses and dropout go. Other networks of integers come
// back as they are but for their loss. Throws one line that names all layers without an integer
// form.
Model integer_form(Model model);

}  // namespace nibble::inline graph
