// SPDX-License-Identifier: Apache-2.0
// What a step asks of a GPU: how much memory, and how many launches.
#include <gtest/gtest.h>

#include "backend/cuda/cuda_backend.h"
#include "integer_step/session.h"
#include "integer_step/test_still_gpu.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline integer_step {
namespace {

Network named(std::string_view name) {
  for (const NamedNetwork& each : named_networks()) {
    if (each.name == name) return parse_network(each.toml, each.name);
  }
  throw Error("test", "network", name, "one of the tree");
}

class StillSession {
 public:
  explicit StillSession(std::string_view network)
      : network_(named(network)),
        backend_(std::make_shared<CudaBackend>("cuda", 0)),
        session_(network_, {}, nullptr, Placement(backend_)) {}

  void steps(int count, std::int64_t images) {
    const Picture picture = session_.tape().input_picture();
    const std::vector<std::int8_t> zeros(static_cast<std::size_t>(images * picture.elements()));
    const std::vector<std::int32_t> labels(static_cast<std::size_t>(images));
    for (int i = 0; i < count; ++i)
      session_.step({.input = {.images = images, .mantissas = zeros, .exponent = -7},
                     .labels = labels,
                     .all_images = images});
  }
  void answer(std::int64_t images) {
    const Picture picture = session_.tape().input_picture();
    const std::vector<std::int8_t> zeros(static_cast<std::size_t>(images * picture.elements()));
    session_.tape().forward({.rule = ShiftRule::exact, .all_images = images},
                            {.images = images, .mantissas = zeros, .exponent = -7});
  }
  double held_mebibytes() const { return static_cast<double>(backend_->held_bytes()) / (1 << 20); }

 private:
  Network network_;
  std::shared_ptr<CudaBackend> backend_;
  IntegerSession session_;
};

constexpr int kLearning = 5;  // steps until all is as it will be

// docs/cuda.md accounts for it.
TEST(StillGpu, AStepHoldsNoMoreThanLivesAtOnce) {
  StillSession session("vgg-small-7");
  session.steps(kLearning, 1024);
  EXPECT_LT(session.held_mebibytes(), 945);
}

// A product that pools on its way writes while it reads: conv2 reads 128 KiB an image, its pool
// writes 32 and as many marks, and 128 are lent to the result that is not stored.
TEST(StillGpu, APooledProductWritesBesideWhatItReads) {
  StillSession session("vgg-small-7");
  for (int i = 0; i < kLearning; ++i) session.answer(1024);
  EXPECT_GE(session.held_mebibytes(), 128 + 128 + 32 + 32);
}

TEST(StillGpu, StepsAreReplayedFromTheSameMemory) {
  StillSession session("vgg-small-7");
  session.steps(kLearning + 2, 256);
  const still_gpu::Counts before = still_gpu::counts();
  session.steps(3, 256);
  EXPECT_EQ(still_gpu::counts().replays, before.replays + 3);
  EXPECT_EQ(still_gpu::counts().launches, before.launches);
  EXPECT_EQ(still_gpu::counts().allocated, before.allocated);
  EXPECT_LE(before.recorded, 53U);
}

// The last batch of an epoch is smaller: both kinds of step share the memory.
TEST(StillGpu, StepsOfSeveralSizesShareTheMemory) {
  StillSession session("vgg-small-7");
  session.steps(kLearning, 256);
  const double alone = session.held_mebibytes();
  for (int epoch = 0; epoch < kLearning; ++epoch) {
    session.steps(2, 256);
    session.steps(1, 80);
  }
  session.steps(1, 256);
  EXPECT_EQ(session.held_mebibytes(), alone);
  const still_gpu::Counts before = still_gpu::counts();
  session.steps(1, 80);
  session.steps(1, 256);
  EXPECT_EQ(still_gpu::counts().replays, before.replays + 2);
}

}  // namespace
}  // namespace nibble::inline integer_step
