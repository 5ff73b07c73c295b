// SPDX-License-Identifier: Apache-2.0
// A run takes no memory from the system once another has ended: this program counts.
#include <gtest/gtest.h>

#include <atomic>

#include "core/test_allocations.h"
#include "engine/engine_test_support.h"
#include "graph/test_random_network.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {
namespace {

TEST(Allocations, AreCounted) {
  if (!kCountsAllocations) GTEST_SKIP() << "memory is the sanitizer's";
  const std::int64_t before = allocations();
  const std::vector<int> numbers(1000);
  EXPECT_EQ(numbers.size(), 1000U);
  EXPECT_GT(allocations(), before);
}

TEST(Allocations, AreNoneWhileRunning) {
  for (const int threads : {1, 2}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      RandomNetwork random(seed);
      const Engine engine(random.model(), {.max_batch = 3, .threads = threads});
      const std::vector<std::byte> input(engine.input().bytes * 5);
      std::vector<std::byte> output(engine.output().bytes * 5);
      if (engine.input().low > 0 || engine.input().high < 0) continue;  // 0 is no input
      engine.run(input, 5, output);
      const std::int64_t before = allocations();
      for (int turn = 0; turn < 3; ++turn) engine.run(input, 5, output);
      EXPECT_EQ(allocations() - before, 0) << "seed " << seed << ", " << threads << " threads";
    }
  }
}

TEST(Allocations, AreNoneWhileSubmitting) {
  RandomNetwork random(3);
  const Engine engine(random.model(), {.max_batch = 4, .threads = 1});
  const std::vector<std::byte> input(engine.input().bytes * 4);
  std::vector<std::vector<std::byte>> outputs(100,
                                              std::vector<std::byte>(4 * engine.output().bytes));
  std::vector<PendingRun> pending(outputs.size());
  std::atomic<int> done = 0;
  const auto turn = [&] {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      pending[i] = engine.submit(input, 4, outputs[i]);
    for (PendingRun& each : pending) each.get();
    done = 0;
    engine.submit(input, 4, outputs[0], [&done](const std::exception_ptr&) {
      ++done;
      done.notify_all();
    });
    done.wait(0);
  };
  turn();
  const std::int64_t before = allocations();
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace nibble::inline engine
