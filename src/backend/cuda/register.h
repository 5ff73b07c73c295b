// SPDX-License-Identifier: Apache-2.0
// Integer training on GPUs, by its names "cuda" and "cuda:1".
#pragma once

namespace nibble::inline backend {

// Makes them known to make_backend(); a build without CUDA refuses them there.
void register_cuda_backend();

}  // namespace nibble::inline backend
