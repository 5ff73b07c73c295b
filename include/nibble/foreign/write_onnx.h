// SPDX-License-Identifier: Apache-2.0
// Networks of integers as ONNX files that other programs run.
#pragma once

#include <filesystem>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

// A network of integer operations (integer_form) as opset 13 with pairs of QuantizeLinear and
// DequantizeLinear around float operations: every rescale to a format of at most 8 bits is such a
// pair, weights are int8 with their scales, biases int32. Floats enter, with channels first; the
// answers are the real numbers that the integers stand for. A runtime that rounds as ONNX says is
// within one step of each value, given the same input. Throws, naming the node, where a layer has
// no such form (tables, arg-max). Written beside and renamed.
void write_onnx(const Model& model, const std::filesystem::path& path);

}  // namespace nibble::inline foreign
