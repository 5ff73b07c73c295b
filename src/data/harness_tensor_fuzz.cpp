// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are a picture of the MLPerf harness or throw Error; one is as large as it
// was asked for.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/test_fuzz_target.h"
#include "data/harness_tensor.h"
#include "nibble/core/error.h"

NIBBLE_FUZZ_TARGET(harness_tensor) {
  using namespace nibble;
  const auto file = std::as_bytes(std::span(data, size));
  (void)is_harness_tensor(file);
  for (const Shape& picture : {Shape{2, 3, 4}, Shape{1, 1, 1}}) {
    try {
      const Tensor tensor = parse_harness_tensor(file, picture, "fuzz");
      if (tensor.shape() != picture || tensor.dtype() != DType::i8) std::abort();
      if (!is_harness_tensor(file)) std::abort();
    } catch (const Error&) {
    }
  }
  return 0;
}
