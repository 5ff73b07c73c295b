// SPDX-License-Identifier: Apache-2.0
// ONNX files: those of opset 9 to 21 as networks, networks of integers as files that others run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

bool can_read_onnx();  // whether this build has the messages of ONNX

// A float network with channels last, weights rearranged, shape arithmetic folded; a softmax,
// log-softmax or arg-max at the end goes, which a note says. One input, pictures (batch, channels,
// rows, columns) or vectors; floats enter as they are. External data must lie in the file's folder.
// Throws one line; it names all nodes without a form here, each with its opset.
Model read_onnx(const std::filesystem::path& path, std::vector<std::string>* notes = nullptr);

// The same of a file in memory, which may have no external data.
Model parse_onnx(std::span<const std::byte> bytes, const std::string& name);

// A network of integer operations (integer_form) as opset 13 with pairs of QuantizeLinear and
// DequantizeLinear around float operations: every rescale to a format of at most 8 bits is such a
// pair, weights are int8 with their scales, biases int32. Floats enter, with channels first; the
// answers are the real numbers that the integers stand for. A runtime that rounds as ONNX says is
// within one step of each value, given the same input. Throws, naming the node, where a layer has
// no such form (tables, arg-max). Written beside and renamed.
void write_onnx(const Model& model, const std::filesystem::path& path);

}  // namespace nibble::inline foreign
