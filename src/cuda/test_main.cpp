// SPDX-License-Identifier: Apache-2.0
// Runs the tests of a program where there is a GPU; exit code 77, "skipped", elsewhere.
#include <gtest/gtest.h>

#include <cstdio>

#include "nibble/cuda/device.h"

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (nibble::cuda::device_count() == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  return RUN_ALL_TESTS();
}
