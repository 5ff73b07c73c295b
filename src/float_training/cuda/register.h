// SPDX-License-Identifier: Apache-2.0
// Products of float training on GPUs, by their names "cuda" and "cuda:1".
#pragma once

namespace nibble::inline float_training {

// Makes them known to make_float_device(); a build without CUDA, or without float training, refuses
// them there.
void register_cuda_float_device();

}  // namespace nibble::inline float_training
