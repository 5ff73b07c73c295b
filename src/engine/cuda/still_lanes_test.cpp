// SPDX-License-Identifier: Apache-2.0
// Lanes of an engine on a GPU where nothing runs, whose runs can be held: all have recorded the
// sizes that one has met, while none waits for another.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "cuda/test_still_gpu.h"
#include "engine/cuda/batch_sizes.h"
#include "engine/engine_test_support.h"
#include "graph/test_random_network.h"
#include "nibble/engine/cuda_engine.h"

namespace nibble::inline engine {
namespace {

class StillLanes {
 public:
  static constexpr std::size_t kLanes = 3;
  static constexpr std::int64_t kSizes = 9;

  explicit StillLanes(std::int64_t planned = kSizes)
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

TEST(StillLanes, AllHaveTheSizesOfOne) {
  register_cuda_engine();
  constexpr std::size_t kAll = StillLanes::kLanes * StillLanes::kSizes;
  for (const bool comes_first : {true, false}) {  // the sizes, before there are further lanes
    SCOPED_TRACE(comes_first);
    StillLanes lanes;
    const std::size_t before = recordings();
    if (!comes_first) lanes.use_all();
    for (std::int64_t batch = 1; batch <= StillLanes::kSizes; ++batch) lanes.run(batch);
    if (comes_first) lanes.use_all();
    EXPECT_EQ(still_gpu::counts().uploads, still_gpu::counts().recordings);
    EXPECT_EQ(recordings() - before, kAll);
    const std::size_t held = still_gpu::counts().allocated;
    for (int turn = 0; turn < 5; ++turn) lanes.submit();
    lanes.use_all();
    EXPECT_EQ(recordings() - before, kAll);
    EXPECT_EQ(still_gpu::counts().allocated, held);
  }
}

TEST(StillLanes, OneThatIsBusyRecordsWhenItComesBack) {
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
TEST(StillLanes, ARunWaitsForNoLaneThatRecords) {
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

TEST(StillLanes, OneThatCannotRecordGoes) {
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

TEST(StillLanes, ANewOneWithoutRoomForAllSizesRunsItsOwn) {
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

TEST(StillLanes, OneSizeTooManyTakesThePlaceOfTheLeastRecent) {
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

}  // namespace
}  // namespace nibble::inline engine
