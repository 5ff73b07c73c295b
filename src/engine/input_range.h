// SPDX-License-Identifier: Apache-2.0
// Whether what enters an engine is within the range that everything was proven for.
#pragma once

#include <cstddef>
#include <span>

#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// Throws where a number is beyond the range of the input: nothing is proven for it, so that a table
// could be read behind its end.
void check_range(std::span<const std::byte> bytes, const ValueInfo& info);

}  // namespace nibble::inline engine
