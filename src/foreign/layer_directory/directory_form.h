// SPDX-License-Identifier: Apache-2.0
// A quantized residual network in the words of NVIDIA's layer directories.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

// What quantization in NVIDIA's form made, as read_layer_directory would give it: the same products
// and factors under the names of the format, rectifiers as layers, the mean by the format's own
// rule, answers divided by floats. Networks of a first convolution, a max pool, four stages of
// bottleneck blocks, each stage's first with a convolution in its shortcut, a mean and a linear
// layer. Throws, naming the layer, where the format has no word for it.
Model directory_form(const Model& integers);

}  // namespace nibble::inline foreign
