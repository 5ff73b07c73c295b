// SPDX-License-Identifier: Apache-2.0
// What an engine asks of a GPU, on one where nothing runs: after the first run of a size no memory,
// of the GPU or of the host, and one replay of a graph a piece, whatever lane takes it; nothing of
// a run that threw.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "core/test_allocations.h"
#include "cuda/test_still_gpu.h"
#include "engine/cuda/batch_sizes.h"
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

// Three lanes of an engine whose runs can be held.
class StillLanes {
 public:
  static constexpr std::size_t kLanes = 3;

  explicit StillLanes(std::int64_t planned = kMostExamples)
      : random_(3),
        planned_(planned),
        engine_(random_.model(), {.device = "cuda", .max_batch = planned, .lanes = kLanes}),
        input_(engine_.input().bytes * examples(planned)),
        output_(engine_.output().bytes * examples(planned)) {}

  void run(std::int64_t batch) {
    engine_.run(std::span(input_).first(examples(batch) * engine_.input().bytes), batch,
                std::span(output_).first(examples(batch) * engine_.output().bytes));
  }
  // Runs one example and calls `meanwhile` before its lane is free.
  template <class Body>
  void hold(const Body& meanwhile) {
    bool has_begun = false;
    still_gpu::on_wait([&] {
      if (!std::exchange(has_begun, true)) meanwhile();
    });
    run(1);
    still_gpu::on_wait({});
  }
  // Runs of one example on all of them at the same time.
  void use_all() {
    std::latch all(kLanes);
    still_gpu::on_wait([&] { all.arrive_and_wait(); });
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kLanes; ++i) threads.emplace_back([&] { run(1); });
    for (std::thread& each : threads) each.join();
    still_gpu::on_wait({});
  }
  void submit() {
    std::vector<std::byte> outputs(output_.size() * pending_.size());
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const auto batch = static_cast<std::int64_t>(i) % planned_ + 1;
      pending_[i] = engine_.submit(
          std::span(input_).first(examples(batch) * engine_.input().bytes), batch,
          std::span(outputs).subspan(i * output_.size(), examples(batch) * engine_.output().bytes));
    }
    for (PendingRun& each : pending_) each.get();
  }

 private:
  static std::size_t examples(std::int64_t batch) { return static_cast<std::size_t>(batch); }

  RandomNetwork random_;
  std::int64_t planned_;
  Engine engine_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  std::vector<PendingRun> pending_ = std::vector<PendingRun>(60);
};

std::size_t recordings() {
  return still_gpu::counts().recordings;
}

TEST(StillEngine, AllLanesHaveTheSizesOfOne) {
  register_cuda_engine();
  constexpr std::size_t kSizes = kMostExamples;
  for (const bool comes_first : {true, false}) {  // the sizes, before there are further lanes
    SCOPED_TRACE(comes_first);
    StillLanes lanes;
    const std::size_t before = recordings();
    if (!comes_first) lanes.use_all();
    for (std::int64_t batch = 1; batch <= kMostExamples; ++batch) lanes.run(batch);
    if (comes_first) lanes.use_all();
    EXPECT_EQ(still_gpu::counts().uploads, still_gpu::counts().recordings);
    EXPECT_EQ(recordings() - before, StillLanes::kLanes * kSizes);
    const std::size_t held = still_gpu::counts().allocated;
    for (int turn = 0; turn < 5; ++turn) lanes.submit();
    lanes.use_all();
    EXPECT_EQ(recordings() - before, StillLanes::kLanes * kSizes);
    EXPECT_EQ(still_gpu::counts().allocated, held);
  }
}

TEST(StillEngine, ALaneThatIsBusyRecordsWhenItComesBack) {
  register_cuda_engine();
  StillLanes lanes;
  const std::size_t before = recordings();
  lanes.hold([&] {
    lanes.run(2);  // by a second lane
    EXPECT_EQ(recordings() - before, 3U);
  });
  EXPECT_EQ(recordings() - before, 4U);
  lanes.hold([&] { lanes.run(2); });
  lanes.run(2);
  EXPECT_EQ(recordings() - before, 4U);
}

// Were it to wait for the lane that records, this test would not end.
TEST(StillEngine, ARunWaitsForNoLaneThatRecords) {
  register_cuda_engine();
  for (const bool is_free : {true, false}) {  // the lane, when another one meets the size
    SCOPED_TRACE(is_free);
    StillLanes lanes;
    const std::size_t before = recordings();
    lanes.hold([&] { lanes.run(1); });  // two lanes
    int made = 0;
    const auto run = [&] {
      still_gpu::on_graph([&] {
        if (++made != 2) return;  // the first one is the run's own
        std::thread([&] { lanes.run(3); }).join();
      });
      lanes.run(2);
    };
    is_free ? run() : lanes.hold(run);
    still_gpu::on_graph({});
    EXPECT_EQ(recordings() - before, is_free ? 9U : 6U);  // who recorded 2 has met 3, too
    lanes.use_all();
    const std::size_t held = still_gpu::counts().allocated;
    lanes.hold([&] { lanes.hold([&] { lanes.run(3); }); });
    for (int turn = 0; turn < 6; ++turn) lanes.run(turn % 3 + 1);
    EXPECT_EQ(recordings() - before, StillLanes::kLanes * 3);
    EXPECT_EQ(still_gpu::counts().allocated, held);
  }
}

TEST(StillEngine, ALaneThatCannotRecordGoes) {
  register_cuda_engine();
  StillLanes lanes;
  const std::size_t one = still_gpu::counts().allocated;
  for (const bool is_free : {true, false}) {  // the lane, when another one meets the size
    SCOPED_TRACE(is_free);
    const std::int64_t batch = is_free ? 2 : 3;
    lanes.hold([&] { lanes.run(1); });
    const std::size_t two = still_gpu::counts().allocated;
    EXPECT_GT(two, one);
    const auto run = [&] {
      still_gpu::fail_after(still_gpu::Call::make_graph, 1);
      lanes.run(batch);
    };
    is_free ? run() : lanes.hold(run);
    still_gpu::fail_no_more();
    EXPECT_EQ(still_gpu::counts().allocated, one);
    const std::size_t before = recordings();
    lanes.run(batch);
    EXPECT_EQ(recordings(), before);
    lanes.hold([&] { lanes.run(1); });
    EXPECT_EQ(still_gpu::counts().allocated, two);
  }
}

TEST(StillEngine, ANewLaneWithoutRoomForAllSizesRunsItsOwn) {
  register_cuda_engine();
  const std::size_t others = still_gpu::counts().graphs;
  StillLanes lanes;
  for (std::int64_t batch = 1; batch <= 3; ++batch) lanes.run(batch);
  const std::size_t one = still_gpu::counts().allocated;
  for (const std::size_t room : {1U, 2U, 0U}) {  // for so many more
    SCOPED_TRACE(room);
    still_gpu::set_most_graphs(others + 3 + room);
    lanes.hold([&] {
      if (room > 0) {
        lanes.run(3);
      } else {
        EXPECT_THROW(lanes.run(3), Error);
      }
    });
    still_gpu::set_most_graphs();
    EXPECT_EQ(still_gpu::counts().graphs, others + 3);  // it was for one run
    EXPECT_EQ(still_gpu::counts().allocated, one);
  }
  lanes.hold([&] { lanes.run(3); });
  EXPECT_EQ(still_gpu::counts().graphs, others + 6);
}

TEST(StillEngine, OneSizeTooManyTakesThePlaceOfTheLeastRecent) {
  register_cuda_engine();
  constexpr std::int64_t kMost = BatchSizes::kMost;
  StillLanes lanes(kMost + 1);
  const std::size_t others = still_gpu::counts().graphs;
  lanes.hold([&] { lanes.run(1); });  // two lanes
  for (std::int64_t batch = 2; batch <= kMost; ++batch) lanes.run(batch);
  EXPECT_EQ(still_gpu::counts().graphs, others + 2 * kMost);
  std::size_t before = recordings();
  lanes.hold([&] { lanes.run(1); });
  EXPECT_EQ(recordings(), before);
  lanes.run(kMost + 1);
  EXPECT_EQ(recordings(), before + 2);
  EXPECT_EQ(still_gpu::counts().graphs, others + 2 * kMost);
  before = recordings();
  lanes.run(1);
  for (std::int64_t batch = 3; batch <= kMost + 1; ++batch) lanes.run(batch);
  EXPECT_EQ(recordings(), before);
  lanes.run(2);
  EXPECT_EQ(recordings(), before + 2);
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
