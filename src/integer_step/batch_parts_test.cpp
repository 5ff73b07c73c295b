// SPDX-License-Identifier: Apache-2.0
// A batch in parts freezes what the whole batch freezes, to the last bit.
#include "integer_step/batch_parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "epoch_loop/test_thread_ranks.h"
#include "integer_step/integer_session_test_support.h"
#include "integer_step/predictor.h"

namespace nibble::inline integer_step {
namespace {

constexpr std::string_view kShiftedNetwork = R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 12, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "ar" },
  { op = "conv2d", name = "b", channels = 12, kernel = 3, padding = 1 },
  { op = "add", from = ["b", "ar"] },
  { op = "average_pool", kernel = 2, stride = 2 },
  { op = "flatten" }, { op = "linear", name = "last", features = 5 },
  { op = "softmax_cross_entropy" },
])";

constexpr std::int64_t kExamples = 12;

class BatchInParts : public ::testing::TestWithParam<std::string> {
 protected:
  BatchInParts()
      : network_(network_of(GetParam() == "Normed" ? kNormedNetwork : kShiftedNetwork)),
        session_(network_, options()) {
    run_steps(session_, 2, 16);  // scales and shifts of batch norms have moved
    Draws draws(3);
    examples_ = random_block(session_.tape().input_picture(), kExamples, -7, draws);
    // Each is brighter than the one before: what early parts believe of shifts is wrong.
    const auto numbers = static_cast<std::int64_t>(examples_.data.size()) / kExamples;
    for (std::int64_t i = 0; i < numbers * kExamples; ++i) {
      std::int8_t& number = examples_.data[static_cast<std::size_t>(i)];
      number = static_cast<std::int8_t>(number * (i / numbers + 1) / kExamples);
    }
  }

  static IntegerOptions options() {
    IntegerOptions options;
    options.update = kSgdOfTests;
    return options;
  }

  Calibration calibrated(std::int64_t most, Communicator* cluster = nullptr) {
    IntegerPredictor predictor(network_, "cpu", cluster);
    const auto& parameters = session_.tape().parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const WeightsState state = parameters[i]->read();
      if (parameters[i]->norm() == NormPart::none) {
        predictor.set_weight(i, state.mantissas, parameters[i]->exponent());
      } else {
        Tensor numbers(DType::i32, parameters[i]->shape());
        std::ranges::copy(state.fine, numbers.as<std::int32_t>().begin());
        predictor.set_weight(i, numbers, 0);
      }
    }
    return predictor.calibrate(
        {.images = kExamples, .most = most, .load = [&](std::int64_t first, std::int64_t count) {
           ++loads_;
           return part_of(input_of_block(examples_), first, count);
         }});
  }

  static void expect_equal(const Calibration& one, const Calibration& other) {
    EXPECT_EQ(one.exponents, other.exponents);
    ASSERT_EQ(one.norms.size(), other.norms.size());
    for (std::size_t i = 0; i < one.norms.size(); ++i) {
      EXPECT_EQ(one.norms[i].means, other.norms[i].means) << i;
      EXPECT_EQ(one.norms[i].variances, other.norms[i].variances) << i;
    }
  }

  Network network_;
  IntegerSession session_;
  reference::Block examples_;
  std::atomic<int> loads_ = 0;
};

TEST_P(BatchInParts, FreezesWhatTheWholeFreezes) {
  const Calibration whole = calibrated(kExamples);
  for (const std::int64_t most : {1, 5, 11}) {
    SCOPED_TRACE(most);
    expect_equal(calibrated(most), whole);
  }
  on_every_path([&] { expect_equal(calibrated(7), whole); });
}

TEST_P(BatchInParts, IsSharedByRanksSomeOfWhichHaveNone) {
  const Calibration whole = calibrated(kExamples);
  for (const int ranks : {3, 13}) {
    Assembly meeting(ranks);
    std::vector<std::thread> threads;
    std::vector<Calibration> found(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        ThreadRank communicator(rank, meeting);
        found[static_cast<std::size_t>(rank)] = calibrated(3, &communicator);
      });
    }
    for (std::thread& each : threads) each.join();
    for (const Calibration& each : found) expect_equal(each, whole);
  }
}

// Some for shifts, however many, and one more for each batch norm.
TEST_P(BatchInParts, TakesFewPasses) {
  (void)calibrated(kExamples / 2);
  const int passes = loads_ / 2;
  const int norms = static_cast<int>(std::ranges::count_if(
      network_.nodes, [](const Node& node) { return is<BatchNorm>(node.op); }));
  EXPECT_GE(passes, 2);
  EXPECT_LE(passes, 4 + norms);
}

INSTANTIATE_TEST_SUITE_P(Networks, BatchInParts, testing::Values("Shifted", "Normed"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace nibble::inline integer_step
