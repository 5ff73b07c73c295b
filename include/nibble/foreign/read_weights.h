// SPDX-License-Identifier: Apache-2.0
// Weights as PyTorch names and orders them, from .npz or .safetensors, into a network.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "nibble/core/safetensors.h"
#include "nibble/graph/network.h"

namespace nibble::inline foreign {

// Fills all parameters of the model's network, whatever it held before. A parameter NODE.weight
// takes the array of that name; scale, shift, mean and variance of a batch norm take NODE.weight,
// .bias, .running_mean and .running_var; the layers that read a flattened picture have their
// columns rearranged. Where one linear layer and one array of its shape are left over, they belong
// together, whatever their names (fc, linear, classifier). `module.` before all names is dropped,
// num_batches_tracked is not looked at. Throws one line that names every array that is missing,
// left over or of another shape; the model is then as before.
void read_weights(Model& model, const std::filesystem::path& path);

// The same of arrays in memory; `source` is used in errors.
void take_weights(Model& model, std::span<const NamedTensor> arrays, const std::string& source);

}  // namespace nibble::inline foreign
