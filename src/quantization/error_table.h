// SPDX-License-Identifier: Apache-2.0
// How far the values of one network are from those of another, node by node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nibble/graph/network.h"
#include "nibble/quantization/float_batches.h"

namespace nibble::inline quantization {

// Signal to quantization noise: 10·log₁₀(Σ x² / Σ (x - y)²) dB, infinite where x = y.
struct NodeError {
  std::string name;
  std::string op;
  double sqnr = 0;
  std::int64_t worst_channel = 0;  // the least SQNR of those that are not 0 throughout
  double worst_sqnr = 0;
  double most_error = 0;  // max |x - y|
};

// Gathers the error of one node; channels are the last axis.
class ErrorMeter {
 public:
  explicit ErrorMeter(std::int64_t channels);

  // Of the same shape, f32; the sums run in the order of calls.
  void add(ConstTensorView exact, ConstTensorView rounded);
  NodeError error_of(const Node& node) const;

 private:
  std::vector<double> signal_;  // by channel
  std::vector<double> noise_;
  double most_error_ = 0;
};

// Of each node but the input that both networks have by name, in the order of the first.
std::vector<NodeError> node_errors(const Model& exact, const Model& rounded,
                                   const FloatBatches& batches);

std::string error_table_text(std::span<const NodeError> errors);  // columns, a line a node
// A list of {"name", "op", "sqnr_db", "worst_channel", "worst_sqnr_db", "max_error"}; an infinite
// number is the string "inf" or "-inf".
std::string error_table_json(std::span<const NodeError> errors);

}  // namespace nibble::inline quantization
