// SPDX-License-Identifier: Apache-2.0
#include "core/buffer_pool.h"

#include <gtest/gtest.h>

namespace nibble::inline core {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

TEST(BufferPool, GivesTheSameMemoryAgain) {
  BufferPool pool;
  Buffer first = pool.take<float>(1000);
  const float* where = first.as<float>();
  first.release();
  EXPECT_EQ(pool.take<float>(900).as<float>(), where);
  EXPECT_EQ(pool.bytes_in_use(), 0U);
}

TEST(BufferPool, LargeBuffersOfOtherSizesDoNotWait) {
  BufferPool pool;
  for (const std::int64_t size : {60, 80, 110, 150}) {
    pool.take<std::byte>(size * kMebibyte);
    EXPECT_LE(pool.held_bytes(), std::size_t{150} * kMebibyte);
  }
  EXPECT_EQ(pool.held_bytes(), pool.peak_bytes());
}

TEST(BufferPool, SmallOnesWaitForTheirTurn) {
  BufferPool pool;
  for (const std::int64_t size : {1, 2, 4, 8}) pool.take<std::byte>(size * kMebibyte);
  EXPECT_EQ(pool.held_bytes(), std::size_t{15} * kMebibyte);
}

}  // namespace
}  // namespace nibble::inline core
