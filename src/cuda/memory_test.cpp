// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU keeps what is copied there.
#include "cuda/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/test_support.h"

namespace nibble {
namespace {

TEST(CudaMemory, GivesBackWhatItGot) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU here";
  std::vector<int> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i);
  const std::size_t bytes = values.size() * sizeof(int);
  const std::shared_ptr<void> memory = cuda::allocate(bytes, 0);
  cuda::copy(memory.get(), values.data(), bytes, {});
  std::vector<int> found(values.size());
  cuda::copy(found.data(), memory.get(), bytes, {});
  EXPECT_EQ(found, values);
  EXPECT_NE(cuda::allocate(0, 0), nullptr);
}

TEST(CudaMemory, IsRefusedWithoutAGpu) {
  const int beyond = cuda::device_count();
  EXPECT_EQ(error_kind_of([&] { cuda::allocate(16, beyond); }), ErrorKind::device);
}

}  // namespace
}  // namespace nibble
