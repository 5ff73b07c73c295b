// SPDX-License-Identifier: Apache-2.0
// Integer training on GPUs, by its names "cuda" and "cuda:1".
#pragma once

#include <string>

namespace nibble::inline backend {

// Makes them known to make_backend(); a build without CUDA refuses them there.
void register_cuda_backend();

// "wgmma": which instructions multiply on a GPU; throws where it cannot be used.
std::string cuda_products(int device);

}  // namespace nibble::inline backend
