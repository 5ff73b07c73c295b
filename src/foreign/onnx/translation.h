// SPDX-License-Identifier: Apache-2.0
// The translation of an ONNX graph, as the converters of single nodes see it.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "foreign/onnx/builder.h"
#include "foreign/onnx/fold_budget.h"
#include "foreign/onnx/value.h"
#include "nibble/graph/network.h"

namespace nibble::inline foreign {

class Translation {
 public:
  Translation(const onnx::GraphProto& graph, std::filesystem::path folder, std::size_t bytes);

  // The value of an input; throws where no node before this one gives it.
  const Value& value(const NodeView& node, std::size_t input);

  // The same of one kind; Unsupported where it is of the other.
  const Activation& activation(const NodeView& node, std::size_t input);
  const Constant& constant(const NodeView& node, std::size_t input);
  const Constant* find_constant(const NodeView& node, std::size_t input);  // null: absent or other
  std::vector<const Constant*> constants(const NodeView& node);

  // The activation as a picture that convolutions and pools take; Unsupported where it is none.
  const Activation& picture(const NodeView& node, std::size_t input);

  void set(const NodeView& node, Value value);
  void set(const std::string& name, Value value) { values_[name] = std::move(value); }
  const Value* find(const std::string& name);  // null: not known yet

  // The value of a node of the network, its axes as ONNX would have them.
  Activation activation_of(std::size_t node) const;

  Extents extents_with_batch(const Activation& x) const;

  Builder& builder() { return builder_; }
  FoldBudget& budget() { return budget_; }
  ExternalFiles& beside() { return beside_; }

  // Whether one node of the graph reads this node's value, and under this name alone.
  bool is_read_once(std::size_t node, const std::string& name) const;

  std::int64_t batch = 1;  // the first extent of every value; 1 where the file leaves it open
  std::unordered_map<std::string, std::size_t> readers;  // of each name, among the nodes that count

 private:
  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::size_t, std::string> first_names_;  // of nodes of the network
  ExternalFiles beside_;
  FoldBudget budget_;
  Builder builder_;
};

// An ONNX model, message by message, as a network of Nibble.
struct TranslateOptions {
  std::string name;                           // of the network
  std::filesystem::path folder = {};          // of external data; empty: refused
  std::size_t bytes = 0;                      // of the file
  std::vector<std::string>* notes = nullptr;  // what was left out
};

Model translate(const onnx::ModelProto& model, const TranslateOptions& options);

}  // namespace nibble::inline foreign
