// SPDX-License-Identifier: Apache-2.0
// One hash over all parameters of a model; docs/networks.md has the sequence of bytes.
#include "core/hash.h"
#include "graph/parameters.h"
#include "nibble/graph/network.h"

namespace nibble::inline graph {

std::uint64_t weights_hash(const Model& model) {
  constexpr std::string_view kEnd("\0", 1);
  Hasher hasher;
  const std::vector<Parameter> parameters = checked_parameters(model);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& tensor = model.parameters[i];
    hasher.add(parameters[i].name);
    hasher.add(kEnd);
    hasher.add(name_of(tensor.dtype()));
    hasher.add(kEnd);
    hasher.add(tensor.shape().to_string());
    hasher.add(kEnd);
    hasher.add(std::span<const std::byte>(tensor.data(), tensor.bytes()));
  }
  return hasher.value();
}

}  // namespace nibble::inline graph
