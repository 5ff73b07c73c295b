// SPDX-License-Identifier: Apache-2.0
// Sums of two bytes, each rescaled by itself, as one step with the rescale that follows: what
// residual additions of quantized networks are.
#pragma once

#include "engine/program.h"

namespace nibble::inline engine {

// Such a rescale takes both bytes, each in its term; what was between is stored no more.
void join_sums(EngineProgram& program);

}  // namespace nibble::inline engine
