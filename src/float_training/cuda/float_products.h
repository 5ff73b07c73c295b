// SPDX-License-Identifier: Apache-2.0
// Products of floats on a GPU by kernels of our own, so that a program needs no library of the
// vendor's to start, and sums have one order: that of the shapes, whatever the GPU.
#pragma once

#include <cstddef>

#include "float_training/cuda/product_shape.h"
#include "nibble/cuda/device.h"
#include "nibble/float_training/recipe.h"

namespace nibble::cuda {

// Operands are of the numbers that `type` has; sums are in fp32. Pointers are the device's, work is
// queued on the place's stream. The workspace is the call's own until its work is done.
std::size_t forward_workspace(const FloatProductShape& shape);
void forward(const FloatProductShape& shape, ProductType type, const float* input,
             const float* weight, const float* bias, float* output, void* workspace,
             const Place& place);

std::size_t input_error_workspace(const FloatProductShape& shape);
void input_error(const FloatProductShape& shape, ProductType type, const float* error,
                 const float* weight, float* input_error, void* workspace, const Place& place);

std::size_t weight_gradient_workspace(const FloatProductShape& shape);
void weight_gradient(const FloatProductShape& shape, ProductType type, const float* input,
                     const float* error, float* gradient, void* workspace, const Place& place);

// Of the errors of every output channel.
std::size_t bias_gradient_workspace(const FloatProductShape& shape);
void bias_gradient(const FloatProductShape& shape, const float* error, float* gradient,
                   void* workspace, const Place& place);

// Makes *scale NaN where any of the values is not finite.
void mark_not_finite(const float* values, std::size_t count, float* scale, const Place& place);

}  // namespace nibble::cuda
