// SPDX-License-Identifier: Apache-2.0
// Tests of one process alone; mpi_check.cpp has those of several.
#include "nibble/cluster/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <optional>
#include <string>

#include "cluster/launcher.h"
#include "cluster/local.h"
#include "core/test_support.h"
#include "nibble/cluster/world.h"

namespace nibble::inline cluster {
namespace {

using testing::ElementsAre;

class Alone : public testing::Test {
 protected:
  Alone() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                             "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
      ::unsetenv(name);
  }
};

TEST_F(Alone, HasItsOwnValuesAsTheResult) {
  Communicator& alone = local_communicator();
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  std::array<std::int32_t, 2> narrow = {-7, 9};
  std::array<std::int64_t, 2> wide = {INT64_MIN, INT64_MAX};
  std::array<std::byte, 1> bytes = {std::byte{5}};
  alone.sum(narrow);
  alone.sum(wide);
  alone.max(wide);
  alone.broadcast(bytes, 0);
  alone.barrier();
  EXPECT_THAT(narrow, ElementsAre(-7, 9));
  EXPECT_THAT(wide, ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(bytes, ElementsAre(std::byte{5}));
}

TEST_F(Alone, RefusesARootThatIsNotThere) {
  for (const int root : {-1, 1}) {
    EXPECT_EQ(error_of([&] { local_communicator().broadcast({}, root); }),
              "[broadcast] root: got " + std::to_string(root) + ", expected 0 to 0");
  }
}

TEST_F(Alone, IsTheWorldWithoutALauncher) {
  EXPECT_EQ(&world(), &local_communicator());
  abort_world(1);  // nobody to end
}

TEST_F(Alone, SeesALauncherInTheEnvironment) {
  EXPECT_EQ(launched_processes(), std::nullopt);
  ::setenv("PMIX_RANK", "3", 1);
  EXPECT_EQ(launched_processes(), 0);
  ::setenv("PMI_SIZE", "4", 1);
  EXPECT_EQ(launched_processes(), 4);
  ::setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
  EXPECT_EQ(launched_processes(), 5);
  for (const char* text : {"", "x", "5x", "-1", "99999999999"}) {
    ::setenv("OMPI_COMM_WORLD_SIZE", text, 1);
    EXPECT_EQ(launched_processes(), 0) << text;
  }
}

TEST_F(Alone, KnowsItsPlaceOnTheMachineByTheEnvironment) {
  EXPECT_EQ(local_rank(), 0);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  EXPECT_EQ(local_rank(), 3);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "-3", 1);
  EXPECT_EQ(local_rank(), 0);
}

}  // namespace
}  // namespace nibble::inline cluster
