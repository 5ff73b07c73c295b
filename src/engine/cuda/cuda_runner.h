// SPDX-License-Identifier: Apache-2.0
// Programs on one GPU, batches on as many streams as there are at a time.
#pragma once

#include <memory>

#include "engine/runner.h"

namespace nibble::inline engine {

// Input and output of its runs may lie in memory of the host, pinned or not, and of the GPU.
std::unique_ptr<EngineRunner> make_cuda_runner(const EngineProgram& program,
                                               const EngineOptions& options);

}  // namespace nibble::inline engine
