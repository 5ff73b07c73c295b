// SPDX-License-Identifier: Apache-2.0
// Whether arrays share bytes.
#pragma once

#include "python/src/array.h"

namespace nibble::python {

// Throws unless every element of `out` has memory of its own.
void check_own_memory(const Array& out, Argument argument);

// Throws where `out` shares bytes with `input`; being exactly the same array is allowed if
// `may_be_same`.
void check_apart(const Array& input, const Array& out, Argument argument, bool may_be_same);

}  // namespace nibble::python
