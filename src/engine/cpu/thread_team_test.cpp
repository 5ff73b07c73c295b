// SPDX-License-Identifier: Apache-2.0
// Workers run every task once, and keep to their own tasks while there are any.
#include "engine/cpu/thread_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline engine {
namespace {

TEST(ThreadTeam, RunsEveryTaskOnceWhateverTheirCount) {
  for (const int workers : {1, 2, 3, 8}) {
    ThreadTeam team(workers);
    for (std::int64_t job = 0; job < 300; ++job) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(job % 50));
      std::atomic<bool> is_worker = true;
      team.run(std::ssize(runs), [&](int worker, std::int64_t task) {
        if (worker < 0 || worker >= workers) is_worker = false;
        ++runs[static_cast<std::size_t>(task)];
      });
      EXPECT_TRUE(is_worker);
      for (const std::atomic<int>& each : runs) ASSERT_EQ(each, 1);
    }
  }
}

TEST(ThreadTeam, EndsWhereverItsWorkersAre) {
  for (int i = 0; i < 5000; ++i) {
    ThreadTeam team(3);
    if (i % 2 == 0) team.run(3, [](int, std::int64_t) {});
  }
}

// Nobody ends a task before every worker has begun one: none has time for those of others.
// But for one that was held up at the end of the last job: it may find another's share first.
TEST(ThreadTeam, GivesAWorkerTheSameShareInEveryJob) {
  constexpr int kWorkers = 3;
  ThreadTeam team(kWorkers);
  int elsewhere = 0;
  for (int job = 0; job < 100; ++job) {
    std::atomic<int> begun = 0;
    int worker_of[kWorkers] = {};
    team.run(kWorkers, [&](int worker, std::int64_t task) {
      worker_of[task] = worker;
      for (++begun; begun < kWorkers;) std::this_thread::yield();
    });
    for (int task = 0; task < kWorkers; ++task) elsewhere += worker_of[task] != task ? 1 : 0;
  }
  EXPECT_LT(elsewhere, 30);
}

TEST(ThreadTeam, ThreadsThatTheSystemRefusesAreAnError) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers take more memory than a limit leaves";
  {
    const AddressSpaceLimit limit(100 << 20);  // of stacks of 8 MiB: a dozen
    EXPECT_THAT(error_of([] { ThreadTeam(1000); }),
                testing::StartsWith("[engine] threads: got 1000, expected at most "));
  }
  ThreadTeam team(4);  // those that had started have ended
  std::atomic<int> runs = 0;
  team.run(100, [&](int, std::int64_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

}  // namespace
}  // namespace nibble::inline engine
