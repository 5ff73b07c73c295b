// SPDX-License-Identifier: Apache-2.0
// Constant folding: what exporters leave behind of shape arithmetic and of weights they rearrange.
#pragma once

#include <string_view>

#include "foreign/onnx/arguments.h"
#include "foreign/onnx/fold_budget.h"

namespace nibble::inline foreign {

struct FoldArguments {
  const NodeView& node;
  Constants inputs;  // all that the node has
  ExternalFiles& beside;
  FoldBudget& budget;

  const Constant& input(std::size_t i) const;  // throws where there is none
};

using Folder = Constant (*)(const FoldArguments& arguments);

// What gives the constant of a node all of whose inputs are constants; null: no rule for this op.
Folder find_folder(std::string_view op);

// The rules of numbers; find_folder has those of shapes.
Folder find_arithmetic(std::string_view op);

}  // namespace nibble::inline foreign
