// SPDX-License-Identifier: Apache-2.0
// One node of an ONNX graph: its attributes by name and type, and how errors speak of it.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline foreign {

// What this node asks for has no form in Nibble's networks; all such nodes end in one message.
struct Unsupported {
  std::string why;
};

class NodeView {
 public:
  NodeView(const onnx::NodeProto& proto, std::int64_t opset) : proto_(proto), opset_(opset) {}

  std::int64_t opset() const { return opset_; }
  const std::string& op() const { return proto_.op_type(); }
  std::string title() const;  // "Conv 'conv1'"; of foreign domains "com.microsoft.QLinearAdd 'add'"
  std::string wished_name() const;  // what the layer may be called: the weight's or the node's name

  std::size_t inputs() const { return static_cast<std::size_t>(proto_.input_size()); }
  bool has_input(std::size_t i) const { return i < inputs() && !input(i).empty(); }
  const std::string& input(std::size_t i) const { return proto_.input(static_cast<int>(i)); }
  const std::string& output() const { return proto_.output(0); }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<float>> reals(std::string_view name) const;
  const onnx::TensorProto* tensor(std::string_view name) const;  // null: it has none

  // "[read_onnx] Conv 'conv1': what: got X, expected Y"
  [[noreturn]] void fail(std::string_view what, std::string_view got,
                         std::string_view expected) const;

 private:
  const onnx::AttributeProto* find(std::string_view name) const;
  const onnx::AttributeProto* find(std::string_view name, int type) const;

  const onnx::NodeProto& proto_;
  std::int64_t opset_;
};

}  // namespace nibble::inline foreign
