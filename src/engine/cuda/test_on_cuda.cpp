// SPDX-License-Identifier: Apache-2.0
// In a test program: its networks made by hand run on a GPU, and not on the CPU.
#include "engine/engine_test_support.h"
#include "nibble/engine/cuda_engine.h"

namespace nibble::inline engine {
namespace {

[[maybe_unused]] const bool kIsOnCuda = [] {
  register_cuda_engine();
  tested_devices() = {"cuda"};
  return true;
}();

}  // namespace
}  // namespace nibble::inline engine
