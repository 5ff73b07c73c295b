// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are an ONNX model that becomes a whole network, or throw Error.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/test_fuzz_target.h"
#include "nibble/core/error.h"
#include "nibble/foreign/onnx.h"

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
