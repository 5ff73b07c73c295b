// SPDX-License-Identifier: Apache-2.0
// Engines on GPUs, by their names "cuda" and "cuda:1": for programs that link nibble::engine_cuda.
#pragma once

namespace nibble::inline engine {

// Makes them known to EngineOptions::device, once before the first of them; a build without CUDA
// refuses them there. In C: nibble_use_cuda.
void register_cuda_engine();

}  // namespace nibble::inline engine
