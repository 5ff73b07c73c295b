// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either are an archive whose arrays can be read or throw Error.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/test_fuzz_target.h"
#include "data/npz.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(npz) {
  using namespace nibble;
  try {
    const auto input = std::as_bytes(std::span(data, size));
    const Npz npz({input.begin(), input.end()}, "fuzz");
    for (const std::string& name : npz.names()) {
      if (!npz.has(name)) std::abort();
      try {
        const Tensor tensor = npz.read(name);
        if (tensor.bytes() > 1100 * size) std::abort();  // deflate packs at most 1032 to 1
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
