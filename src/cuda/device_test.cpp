// SPDX-License-Identifier: Apache-2.0
// Builds and machines without a GPU answer instead of failing.
#include "nibble/cuda/device.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"
#include "nibble/cuda/upload.h"

namespace nibble {
namespace {

TEST(CudaDevice, CountsWithoutThrowing) {
  const int count = cuda::device_count();
  EXPECT_GE(count, 0);
  if (!cuda::is_built()) {
    EXPECT_EQ(count, 0);
  }
}

TEST(CudaDevice, RefusesWorkWithoutOne) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "there is a GPU here";
  int word = 0;
  EXPECT_THROW(cuda::upload(&word, &word, sizeof word, {}), Error);
  EXPECT_THROW(cuda::DeviceGuard({}), Error);
  EXPECT_THROW(cuda::wait_for({}), Error);
}

}  // namespace
}  // namespace nibble
