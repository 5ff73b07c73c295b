// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: ONNX files, weights of PyTorch.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/core/safetensors.h"
#include "nibble/foreign/onnx.h"
#include "nibble/foreign/read_weights.h"
#include "nibble/graph/network_text.h"

// Any bytes are an ONNX model that becomes a whole network, or throw Error.
NIBBLE_FUZZ_TARGET(onnx) {
  using namespace nibble;
  try {
    const Model model = parse_onnx(std::as_bytes(std::span(data, size)), "fuzz");
    if (parameters_of(model.network).size() != model.parameters.size()) std::abort();
    (void)weights_hash(model);
  } catch (const Error&) {
  }
  return 0;
}

// Any bytes as weights of PyTorch either fill a whole network or throw Error and leave
// it as it was.
NIBBLE_FUZZ_TARGET(weights) {
  using namespace nibble;
  static const Network network = parse_network(
      "name = \"tiny\"\ninput = [4]\nlayers = [\n"
      "  { op = \"linear\", name = \"fc1\", features = 3, bias = true }, { op = \"relu\" },\n"
      "  { op = \"linear\", name = \"fc2\", features = 2, bias = true },\n"
      "  { op = \"softmax_cross_entropy\" },\n]\n",
      "fuzz");
  Safetensors file;
  try {
    file = parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const Error&) {
    return 0;
  }
  Model model{.network = network, .parameters = {}};
  try {
    take_weights(model, file.tensors, "fuzz");
    if (parameters_of(model.network).size() != model.parameters.size()) std::abort();
  } catch (const Error&) {
    if (!model.parameters.empty()) std::abort();
  }
  return 0;
}
