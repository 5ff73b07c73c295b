// SPDX-License-Identifier: Apache-2.0
// Programs by the definitions of their nodes, one by one: nothing is fused, nothing is fast.
#pragma once

#include <memory>

#include "engine/runner.h"

namespace nibble::inline engine {

std::unique_ptr<EngineRunner> make_reference_runner(const EngineProgram& program,
                                                    const EngineOptions& options);

}  // namespace nibble::inline engine
