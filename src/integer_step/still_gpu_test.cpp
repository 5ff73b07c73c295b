// SPDX-License-Identifier: Apache-2.0
// What a step asks of a GPU: how much memory, how many launches, and when the host waits for it.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/cuda/cuda_backend.h"
#include "cuda/test_still_gpu.h"
#include "integer_step/session.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline integer_step {
namespace {

class StillSession {
 public:
  explicit StillSession(std::string_view network, const IntegerOptions& options = {})
      : StillSession(load_network(network), options) {}
  explicit StillSession(Network network, const IntegerOptions& options = {})
      : network_(std::move(network)),
        backend_(std::make_shared<CudaBackend>("cuda", 0)),
        session_(network_, options, nullptr, Placement(backend_)) {}

  void steps(int count, std::int64_t images) { steps(count, images, images); }
  // Of all images this rank may have none.
  void steps(int count, std::int64_t images, std::int64_t all_images) {
    const Picture picture = session_.tape().input_picture();
    const std::vector<std::int8_t> zeros(static_cast<std::size_t>(images * picture.elements()));
    const std::vector<std::int32_t> labels(static_cast<std::size_t>(images));
    for (int i = 0; i < count; ++i)
      session_.step({.input = {.images = images, .mantissas = zeros, .exponent = -7},
                     .labels = labels,
                     .all_images = all_images});
  }
  // A step on the first images of a data set, whose answers nobody has taken yet.
  void submit_images(const Tensor& data, std::int64_t images) {
    std::vector<std::int32_t> indices(static_cast<std::size_t>(images));
    std::iota(indices.begin(), indices.end(), 0);
    const std::vector<std::int8_t> tables(256 * 3);
    session_.submit({.input = {.images = images,
                               .selection = ImageSelection{data.view(), indices, {}, {}},
                               .tables = tables,
                               .exponent = -7},
                     .labels = indices,
                     .all_images = images});
  }
  void take_answers() { session_.take_answers(); }
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

// Weights of groups are laid out once, and then by updates.
TEST(StillGpu, StepsWithGroupsAreReplayedToo) {
  StillSession session(parse_network(R"(
input = [8, 8, 40]
layers = [
  { op = "conv2d", channels = 40, kernel = 3, padding = 1, groups = 40 }, { op = "relu" },
  { op = "conv2d", channels = 256, kernel = 1, groups = 2 }, { op = "batch_norm" }, { op = "relu" },
  { op = "conv2d", channels = 30, kernel = 3, stride = 2, padding = 1, groups = 2 }, { op = "relu" },
  { op = "flatten" }, { op = "linear", features = 10 }, { op = "softmax_cross_entropy" },
])",
                                     "test"),
                       {.update = SgdUpdate{.rate = {20000, -20}}});
  session.steps(kLearning + 2, 64);
  const still_gpu::Counts before = still_gpu::counts();
  session.steps(3, 64);
  EXPECT_EQ(still_gpu::counts().replays, before.replays + 3);
  EXPECT_EQ(still_gpu::counts().launches, before.launches);
  EXPECT_EQ(still_gpu::counts().allocated, before.allocated);
}

TEST(StillGpu, ARankWithoutImagesTakesItsSteps) {
  for (const std::string_view network : {"vgg-small-7", "resnet20"}) {
    StillSession session(network, {.update = SgdUpdate{.rate = {20000, -20}}});
    session.steps(kLearning, 64);
    EXPECT_NO_THROW(session.steps(2, 0, 1));
    session.steps(2, 64);
  }
}

// Steps run ahead of the host: it waits for answers alone, which it takes two steps later.
TEST(StillGpu, TheHostWaitsForNothingWithinAStep) {
  const Tensor data(DType::u8, {300, 32, 32, 3});
  for (const std::string_view network : {"vgg-small-7", "resnet20-nobn", "resnet20"}) {
    SCOPED_TRACE(network);
    StillSession session(network, {.update = SgdUpdate{.rate = {20000, -20}}});
    for (int i = 0; i < kLearning + 2; ++i) {
      session.submit_images(data, 64);
      session.take_answers();
    }
    const still_gpu::Counts before = still_gpu::counts();
    for (int i = 0; i < 3; ++i) session.submit_images(data, 64);
    EXPECT_EQ(still_gpu::counts().waits, before.waits);
    EXPECT_EQ(still_gpu::counts().replays, before.replays + 3);
    EXPECT_EQ(still_gpu::counts().launches, before.launches);
    for (int i = 0; i < 3; ++i) session.take_answers();
    EXPECT_EQ(still_gpu::counts().waits, before.waits + 3);
  }
}

// What a step of 64 images sends beside their bytes: indices, labels, its number.
constexpr std::size_t kLittle = 4096;

TEST(StillGpu, ADataSetIsBroughtOnce) {
  const Tensor data(DType::u8, {5000, 32, 32, 3});
  StillSession session("vgg-small-7");
  const std::size_t before = still_gpu::counts().sent;
  session.submit_images(data, 64);
  const std::size_t first = still_gpu::counts().sent;
  EXPECT_GE(first - before, data.bytes());
  session.submit_images(data, 64);
  EXPECT_LT(still_gpu::counts().sent - first, kLittle);
}

TEST(StillGpu, ADataSetThatFindsNoMemoryIsStreamed) {
  const Tensor data(DType::u8, {100'000, 32, 32, 3});  // 293 MiB
  const std::size_t others = still_gpu::counts().allocated;
  StillSession session("resnet20-nobn");
  still_gpu::set_memory(others + (std::size_t{200} << 20));
  for (int i = 0; i < kLearning; ++i) {
    const std::size_t before = still_gpu::counts().sent;
    ASSERT_NO_THROW(session.submit_images(data, 64));
    session.take_answers();
    const std::size_t sent = still_gpu::counts().sent - before;
    EXPECT_GE(sent, 64U * 32 * 32 * 3);
    EXPECT_LT(sent, 64U * 32 * 32 * 3 + kLittle);
  }
  still_gpu::set_memory();
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
