// SPDX-License-Identifier: Apache-2.0
// An ONNX graph that grows node by node.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline foreign {

class GraphWriter {
 public:
  explicit GraphWriter(const std::string& name);

  // Extents of one example, as ONNX has them; the batch is left open.
  void set_input(const std::string& name, std::span<const std::int64_t> extents);
  void set_output(const std::string& name, std::span<const std::int64_t> extents);

  // A node that is called as its output is; gives that name back.
  std::string add(const std::string& op, const std::vector<std::string>& inputs,
                  const std::string& output);

  // An attribute of the last node.
  void with(const std::string& name, std::int64_t value);
  void with(const std::string& name, std::span<const std::int64_t> values);

  // Stored tensors; each gives its name back.
  std::string store(const std::string& name, ConstTensorView tensor);
  std::string store(const std::string& name, std::span<const std::int64_t> list);
  std::string store(const std::string& name, float number);

  void write(const std::filesystem::path& path) const;

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::ModelProto model_;
};

}  // namespace nibble::inline foreign
