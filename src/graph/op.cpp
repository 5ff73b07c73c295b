// SPDX-License-Identifier: Apache-2.0
// Names of the operations.
#include "nibble/graph/op.h"

#include <array>
#include <utility>

#include "graph/op_fields.h"

namespace nibble::inline graph {
namespace {

// In the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Op>> kNames = {
    "input",         "conv2d",        "linear",
    "bias",          "relu",          "relu6",
    "max_pool",      "average_pool",  "global_average_pool",
    "batch_norm",    "add",           "concat",
    "slice",         "pad",           "flatten",
    "fake_quantize", "dropout",       "softmax_cross_entropy",
    "squared_error", "rescale",       "sum_pool",
    "table",         "softmax_table", "arg_max",
};

template <std::size_t... kIndices>
std::optional<Op> op_of(std::string_view name, std::index_sequence<kIndices...>) {
  std::optional<Op> found;
  ((kNames[kIndices] == name ? void(found.emplace(std::in_place_index<kIndices>)) : void()), ...);
  return found;
}

}  // namespace

std::optional<Op> op_of(std::string_view name) {
  return op_of(name, std::make_index_sequence<std::variant_size_v<Op>>());
}

std::string_view name_of(const Op& op) {
  return kNames[op.index()];
}

}  // namespace nibble::inline graph
