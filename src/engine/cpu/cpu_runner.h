// SPDX-License-Identifier: Apache-2.0
// Programs on the CPU, by kernels of the path of instructions that is active.
#pragma once

#include <memory>

#include "engine/runner.h"

namespace nibble::inline engine {

std::unique_ptr<EngineRunner> make_cpu_runner(const EngineProgram& program,
                                              const EngineOptions& options);

}  // namespace nibble::inline engine
