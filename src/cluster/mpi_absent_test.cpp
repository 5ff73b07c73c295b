// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "cluster/local.h"
#include "core/test_support.h"
#include "nibble/cluster/world.h"

namespace nibble::inline cluster {
namespace {

TEST(MpiAbsent, RefusesToBeOneOfMany) {
  ::setenv("PMI_SIZE", "1", 1);
  EXPECT_EQ(&world(), &local_communicator());
  ::setenv("PMI_SIZE", "2", 1);
  EXPECT_THAT(error_of([] { world(); }), testing::HasSubstr("[mpi] this build has no MPI"));
}

}  // namespace
}  // namespace nibble::inline cluster
