// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: networks as text, model files.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/test_fuzz_target.h"
#include "graph/network_json.h"
#include "nibble/core/error.h"
#include "nibble/core/safetensors.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"

// Any text either is a network or throws Error; what is one survives both text forms.
NIBBLE_FUZZ_TARGET(network) {
  using namespace nibble;
  Network network;
  try {
    network = parse_network({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  // From here on nothing may throw but the limit of products.
  if (parse_network(to_toml(network), "toml") != network) std::abort();
  if (network_from_json(to_json(network), "json") != network) std::abort();
  (void)parameters_of(network);
  try {
    (void)multiply_accumulates(network);
  } catch (const Error&) {
  }
  return 0;
}

namespace {

using namespace nibble;

void check_copy(const Safetensors& file) {
  std::vector<NamedTensorView> views;
  for (const NamedTensor& each : file.tensors) views.push_back({each.name, each.tensor.view()});
  std::ostringstream out;
  write_safetensors(out, file.metadata, views);
  const std::string bytes = out.str();
  const Safetensors copy = parse_safetensors(std::as_bytes(std::span(bytes)), "copy");
  if (copy.metadata != file.metadata || copy.tensors.size() != views.size()) std::abort();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Tensor& tensor = copy.tensors[i].tensor;
    if (copy.tensors[i].name != views[i].name || tensor.dtype() != views[i].tensor.dtype() ||
        tensor.shape() != views[i].tensor.shape() ||
        std::memcmp(tensor.data(), views[i].tensor.data(), tensor.bytes()) != 0) {
      std::abort();
    }
  }
}

}  // namespace

// Any bytes are a safetensors file or a model, or throw Error; what is read survives
// a round trip. Both readers see the input, since few mutations keep the hash of a model.
NIBBLE_FUZZ_TARGET(model) {
  const auto input = std::as_bytes(std::span(data, size));
  try {
    const Safetensors file = parse_safetensors(input, "fuzz");
    check_copy(file);
    // The hash guards the network: it is read apart, too.
    if (const auto found = file.metadata.find("network"); found != file.metadata.end()) {
      const Network network = network_from_json(found->second, "fuzz");
      if (network_from_json(to_json(network), "copy") != network) std::abort();
    }
  } catch (const Error&) {
  }
  try {
    const ModelFile file = parse_model(input, "fuzz");
    (void)weights_hash(file.model);
  } catch (const Error&) {
  }
  return 0;
}
