// SPDX-License-Identifier: Apache-2.0
// Which nodes of an ONNX graph count, and what enters and leaves it.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nibble/core/shape.h"

namespace nibble::inline foreign {

struct GraphInput {
  std::string name;
  std::int64_t batch = 1;             // 1 where it is left open
  std::vector<std::int64_t> extents;  // of one example, as ONNX has them
};

struct GraphPlan {
  GraphInput input;
  std::string output;                                    // what the network answers
  std::vector<const onnx::NodeProto*> nodes;             // that the output needs, in order
  std::unordered_map<std::string, std::size_t> readers;  // of each name, among these
  std::vector<const onnx::NodeProto*> dropped;  // softmax and the like at the end: no class changes
};

// Throws unless there is one input of pictures or vectors and one output.
GraphPlan plan_graph(const onnx::GraphProto& graph);

}  // namespace nibble::inline foreign
