// SPDX-License-Identifier: Apache-2.0
// Ranks without mpirun. What starts them does not return, so that it runs in a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "core/test_support.h"
#include "nibble/cluster/world.h"

namespace nibble::inline cluster {
namespace {

using testing::ExitedWithCode;

bool adds_up() {
  Communicator& all = world();
  std::array<std::int64_t, 2> sums = {1, all.rank()};
  all.sum(sums);
  std::array<std::byte, 1> bytes = {std::byte(all.rank())};
  all.broadcast(bytes, 2);
  all.barrier();
  return all.size() == 3 && sums[0] == 3 && sums[1] == 3 && bytes[0] == std::byte{2};
}

// Waits for ranks that do not come.
void wait_for_others() {
  world().barrier();
}

class StartedRanks : public testing::Test {
 protected:
  StartedRanks() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) ::unsetenv(name);
  }
};

TEST_F(StartedRanks, AreTheWorld) {
  EXPECT_EXIT(
      {
        start_ranks(3);
        ::_exit(adds_up() ? 0 : 1);
      },
      ExitedWithCode(0), "");
}

TEST_F(StartedRanks, EndWithTheOneThatFails) {
  EXPECT_EXIT(
      {
        start_ranks(3);
        if (world().rank() == 2) {
          std::fputs("no more\n", stderr);
          ::_exit(4);
        }
        wait_for_others();
      },
      ExitedWithCode(4), "^no more\n$");
  EXPECT_EXIT(
      {
        start_ranks(3);
        if (world().rank() == 1) ::raise(SIGKILL);
        wait_for_others();
      },
      ExitedWithCode(128 + SIGKILL), "signal 9 ended rank 1");
}

TEST_F(StartedRanks, SayOnceWhatAllFindWrong) {
  EXPECT_EXIT(
      {
        start_ranks(3);
        std::fputs("no\n", stderr);
        ::_exit(1);
      },
      ExitedWithCode(1), "^no\n$");
}

TEST_F(StartedRanks, AreAtLeastOne) {
  EXPECT_EQ(error_of([] { start_ranks(0); }), "[ranks] count: got 0, expected 1 to 64");
  start_ranks(1);
  EXPECT_EQ(world().size(), 1);
  ::setenv("PMI_SIZE", "2", 1);
  EXPECT_THAT(error_of([] { start_ranks(2); }), testing::HasSubstr("within ranks of mpirun"));
  ::unsetenv("PMI_SIZE");
}

}  // namespace
}  // namespace nibble::inline cluster
