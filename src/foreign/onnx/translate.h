// SPDX-License-Identifier: Apache-2.0
// An ONNX model, message by message, as a network of Nibble.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

struct TranslateOptions {
  std::string name;                           // of the network
  std::filesystem::path folder = {};          // of external data; empty: refused
  std::size_t bytes = 0;                      // of the file
  std::vector<std::string>* notes = nullptr;  // what was left out
};

Model translate(const onnx::ModelProto& model, const TranslateOptions& options);

}  // namespace nibble::inline foreign
