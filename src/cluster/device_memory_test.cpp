// SPDX-License-Identifier: Apache-2.0
#include "cluster/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "nibble/core/error.h"

namespace nibble::inline cluster {
namespace {

TEST(DeviceMemory, GoesAsItLiesWhereMessagesTakeIt) {
  for (const bool is_shared : {false, true}) {
    EXPECT_FALSE(uses_device_memory({}, false, is_shared));
    EXPECT_EQ(uses_device_memory({}, true, is_shared), !is_shared);
  }
}

TEST(DeviceMemory, GoesTheWayThatWasAskedFor) {
  for (const bool is_shared : {false, true}) {
    EXPECT_FALSE(uses_device_memory(false, true, is_shared));
    EXPECT_FALSE(uses_device_memory(false, false, is_shared));
    EXPECT_TRUE(uses_device_memory(true, true, is_shared));
    EXPECT_THAT([&] { uses_device_memory(true, false, is_shared); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("this MPI takes no pointers")));
  }
}

TEST(DeviceMemory, IsAskedForByAVariable) {
  {
    const ScopedVariable yes("NIBBLE_MPI_DEVICE", "1");
    EXPECT_EQ(asked_for_device_memory(), true);
  }
  {
    const ScopedVariable no("NIBBLE_MPI_DEVICE", "0");
    EXPECT_EQ(asked_for_device_memory(), false);
  }
  const ScopedVariable strange("NIBBLE_MPI_DEVICE", "yes");
  EXPECT_THAT(asked_for_device_memory, testing::ThrowsMessage<Error>(testing::HasSubstr("0 or 1")));
}

}  // namespace
}  // namespace nibble::inline cluster
