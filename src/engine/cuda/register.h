// SPDX-License-Identifier: Apache-2.0
// Engines on GPUs, by their names "cuda" and "cuda:1".
#pragma once

namespace nibble::inline engine {

// Makes them known to EngineOptions::device; a build without CUDA refuses them there.
void register_cuda_engine();

}  // namespace nibble::inline engine
