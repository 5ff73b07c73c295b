// SPDX-License-Identifier: Apache-2.0
// Tests of parallel_for: coverage, chunks and exceptions.
#include "nibble/core/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/test_support.h"
#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

class ScopedThreads {
 public:
  explicit ScopedThreads(int threads) { set_thread_count(threads); }
  ~ScopedThreads() { set_thread_count(0); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;
};

using Chunks = std::set<std::pair<std::size_t, std::size_t>>;

class Parallel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(0); }
};

Chunks chunks_of(std::size_t count, std::size_t grain) {
  std::mutex mutex;
  Chunks chunks;
  parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.insert({begin, end}).second);
  });
  return chunks;
}

TEST_P(Parallel, ChunksDependOnCountAndGrainAlone) {
  EXPECT_EQ(chunks_of(10, 4), (Chunks{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(chunks_of(8, 4), (Chunks{{0, 4}, {4, 8}}));
  EXPECT_EQ(chunks_of(3, 100), (Chunks{{0, 3}}));
  EXPECT_EQ(chunks_of(0, 4), Chunks{});
}

TEST_P(Parallel, AnExceptionOfTheLowestChunkIsRethrownAfterAllHaveRun) {
  std::atomic<int> runs = 0;
  try {
    parallel_for(64, 1, [&](std::size_t begin, std::size_t) {
      ++runs;
      if (begin >= 5 && begin % 2 == 1) throw std::runtime_error(std::to_string(begin));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "5");
  }
  EXPECT_EQ(runs, 64);
}

TEST_P(Parallel, ANestedLoopRunsOnTheThreadThatStartedIt) {
  std::atomic<int> runs = 0;
  parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(8, 1, [&](std::size_t, std::size_t) {
      ++runs;
      EXPECT_EQ(std::this_thread::get_id(), outer);
    });
  });
  EXPECT_EQ(runs, 64);
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 3, 8));

TEST(ParallelFor, UsesAsManyThreadsAsAsked) {
  set_thread_count(3);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  parallel_for(12, 1, [&](std::size_t, std::size_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  set_thread_count(0);
  EXPECT_EQ(threads.size(), 3u);
}

TEST(ParallelFor, AGrainOfZeroIsRefused) {
  EXPECT_THROW(parallel_for(1, 0, [](std::size_t, std::size_t) {}), Error);
}

TEST(ThreadCount, ZeroGoesBackToTheDefault) {
  const int before = thread_count();
  EXPECT_GE(before, 1);
  set_thread_count(before + 3);
  EXPECT_EQ(thread_count(), before + 3);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), before);
  EXPECT_THROW(set_thread_count(-1), Error);
}

TEST(ThreadCount, MoreThanAnyMachineHasIsRefused) {
  EXPECT_EQ(error_of([] { set_thread_count(100'000); }),
            "[threads] number: got 100000, expected 0 to 1024");
  const ScopedThreads most(kMostThreads);
  EXPECT_EQ(thread_count(), kMostThreads);
}

TEST(ThreadCount, ThreadsThatTheSystemRefusesAreAnErrorOfTheLoop) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers take more memory than a limit leaves";
  const ScopedThreads many(600);
  constexpr rlim_t kRoom = 100 << 20;  // of stacks of 8 MiB: a dozen
  int runs = 0;
  {
    const AddressSpaceLimit limit(kRoom);
    const auto loop = [&] { parallel_for(600, 1, [&](std::size_t, std::size_t) { ++runs; }); };
    const auto tasks = [&] { parallel_tasks(600, [&](std::size_t) { ++runs; }); };
    EXPECT_THAT(error_of(loop),
                testing::StartsWith("[threads] number: got 600, expected at most "));
    EXPECT_THAT(error_of(tasks), testing::StartsWith("[threads] number: got 600"));
    EXPECT_EQ(error_kind_of(loop), ErrorKind::system);
  }
  EXPECT_EQ(runs, 0);
  set_thread_count(4);
  EXPECT_EQ(chunks_of(10, 4).size(), 3U);
}

TEST(ParallelTasks, EveryTaskRunsOnceAndTheFirstFailureIsTold) {
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    std::vector<std::atomic<int>> runs(97);
    parallel_tasks(runs.size(), [&](std::size_t task) { ++runs[task]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    try {
      parallel_tasks(50, [](std::size_t task) {
        if (task % 10 == 7) throw Error("task", std::to_string(task));
      });
      FAIL() << "no exception";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "[task] 7");
    }
  }
  set_thread_count(0);
}

}  // namespace
}  // namespace nibble::inline core
