// SPDX-License-Identifier: Apache-2.0
// What an engine asks of a GPU, on one where nothing runs: after the first run of a size no memory,
// of the GPU or of the host, and one replay of a graph a piece; nothing of a run that threw.
#include <gtest/gtest.h>

#include "core/test_allocations.h"
#include "cuda/test_still_gpu.h"
#include "engine/engine_test_support.h"
#include "graph/test_random_network.h"
#include "nibble/engine/cuda_engine.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kMostExamples = 9;
constexpr std::int64_t kPlanned = 4;  // larger batches run in pieces

class StillEngine {
 public:
  explicit StillEngine(std::uint64_t seed)
      : random_(seed),
        engine_(random_.model(), {.device = "cuda", .max_batch = kPlanned}),
        input_(engine_.input().bytes * kMostExamples),
        output_(engine_.output().bytes * kMostExamples) {}

  // Of every size; the number of pieces.
  std::size_t run() {
    std::size_t pieces = 0;
    for (std::int64_t batch = 1; batch <= kMostExamples; ++batch) {
      const auto examples = static_cast<std::size_t>(batch);
      engine_.run(std::span(input_).first(examples * engine_.input().bytes), batch,
                  std::span(output_).first(examples * engine_.output().bytes));
      pieces += (examples + kPlanned - 1) / kPlanned;
    }
    return pieces;
  }
  void run_one(std::size_t batch = 1) {
    engine_.run(std::span(input_).first(batch * engine_.input().bytes),
                static_cast<std::int64_t>(batch),
                std::span(output_).first(batch * engine_.output().bytes));
  }
  void submit() {
    for (PendingRun& each : pending_) each = engine_.submit(input_, kMostExamples, output_);
    for (PendingRun& each : pending_) each.get();
  }

 private:
  RandomNetwork random_;
  Engine engine_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  std::vector<PendingRun> pending_ = std::vector<PendingRun>(20);
};

TEST(StillEngine, TakesNoMemoryAfterTheFirstRunOfASize) {
  register_cuda_engine();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    StillEngine engine(seed);
    engine.run();
    const still_gpu::Counts before = still_gpu::counts();
    const std::int64_t taken = allocations();
    const std::size_t pieces = engine.run();
    EXPECT_EQ(allocations() - taken, 0);
    EXPECT_EQ(still_gpu::counts().allocated, before.allocated);
    EXPECT_EQ(still_gpu::counts().launches, before.launches);
    EXPECT_EQ(still_gpu::counts().replays, before.replays + pieces);
  }
}

TEST(StillEngine, TakesNoMemoryForSubmissionsAfterTheFirst) {
  register_cuda_engine();
  StillEngine engine(3);
  engine.submit();
  const std::size_t held = still_gpu::counts().allocated;
  const std::int64_t taken = allocations();
  for (int turn = 0; turn < 3; ++turn) engine.submit();
  EXPECT_EQ(allocations() - taken, 0);
  EXPECT_EQ(still_gpu::counts().allocated, held);
}

TEST(StillEngine, ALaneWhoseRunFailedIsNotUsedAgain) {
  register_cuda_engine();
  for (const still_gpu::Call call :
       {still_gpu::Call::make_graph, still_gpu::Call::copy, still_gpu::Call::launch}) {
    SCOPED_TRACE(static_cast<int>(call));
    StillEngine engine(4);
    engine.run_one();
    const still_gpu::Counts before = still_gpu::counts();
    still_gpu::fail_after(call, call == still_gpu::Call::copy ? 1 : 0);  // examples have been sent
    EXPECT_THROW(engine.run_one(2), Error);
    still_gpu::fail_no_more();
    EXPECT_GT(still_gpu::counts().waits, before.waits);  // for what was on its way
    EXPECT_LT(still_gpu::counts().allocated, before.allocated);
    EXPECT_EQ(still_gpu::counts().captures, 0U);
    EXPECT_EQ(still_gpu::counts().captured, 0U);
    engine.run_one(2);
    EXPECT_EQ(still_gpu::counts().recorded, before.recorded);  // and not what failed as well
    EXPECT_EQ(still_gpu::counts().allocated, before.allocated);
  }
}

TEST(StillEngine, GivesAllMemoryBack) {
  register_cuda_engine();
  const std::size_t others = still_gpu::counts().allocated;
  {
    StillEngine engine(4);
    engine.run();
    EXPECT_GT(still_gpu::counts().allocated, others);
  }
  EXPECT_EQ(still_gpu::counts().allocated, others);
}

}  // namespace
}  // namespace nibble::inline engine
