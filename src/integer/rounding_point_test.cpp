// SPDX-License-Identifier: Apache-2.0
// Where shifts come from: exact, delayed, frozen.
#include "integer/rounding_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integer/integer_test_support.h"
#include "integer/predictor.h"
#include "nibble/core/error.h"

namespace nibble {
namespace {

using reference::Block;
using ::testing::ElementsAre;

TEST(Shifts, BringTheLargestSumDownToSevenBits) {
  EXPECT_EQ(shift_for(0), 0);
  EXPECT_EQ(shift_for(128), 0);  // 128 saturates
  EXPECT_EQ(shift_for(129), 1);
  EXPECT_EQ(shift_for(256), 1);
  EXPECT_EQ(shift_for(257), 2);
  EXPECT_EQ(shift_for(std::uint64_t{1} << 40), 33);
}

// What the body was called with, and the largest sum it tells.
struct Body {
  std::uint64_t largest = 0;
  std::vector<int> shifts = {};
  SumsOutcome operator()(const RoundingJob& job) {
    shifts.push_back(job.shift);
    return {.largest = largest, .saturated = 1, .elements = 2};
  }
};

int round(RoundingPoint& point, ShiftRule rule, std::uint64_t largest, std::vector<int>& calls) {
  Body body{largest};
  const int shift =
      point.round({rule, {}, nullptr}, {}, [&](const RoundingJob& job) { return body(job); });
  calls = body.shifts;
  return shift;
}

TEST(Shifts, ExactGuessesAndCorrectsItself) {
  RoundingPoint point("a.value", ShiftRounding::nearest, 0);
  EXPECT_FALSE(point.has_shift());
  std::vector<int> calls;
  EXPECT_EQ(round(point, ShiftRule::exact, 1024, calls), 3);
  EXPECT_THAT(calls, ElementsAre(0, 3));
  EXPECT_EQ(round(point, ShiftRule::exact, 1000, calls), 3);
  EXPECT_THAT(calls, ElementsAre(3));
  EXPECT_EQ(round(point, ShiftRule::exact, 1025, calls), 4);
  EXPECT_THAT(calls, ElementsAre(3, 4));
  EXPECT_EQ(round(point, ShiftRule::exact, 5, calls), 0);
  EXPECT_THAT(calls, ElementsAre(4, 0));
  EXPECT_EQ(point.batches(), 4);
  EXPECT_EQ(point.misses(), 3);
}

TEST(Shifts, DelayedTakesThoseOfTheLastBatchAndTheFirstIsExact) {
  RoundingPoint point("a.value", ShiftRounding::nearest, 0);
  std::vector<int> calls;
  EXPECT_EQ(round(point, ShiftRule::delayed, 1024, calls), 3);
  EXPECT_THAT(calls, ElementsAre(0, 3));
  EXPECT_EQ(round(point, ShiftRule::delayed, 5000, calls), 3);
  EXPECT_THAT(calls, ElementsAre(3));
  EXPECT_EQ(round(point, ShiftRule::delayed, 10, calls), 6);
  EXPECT_THAT(calls, ElementsAre(6));
  EXPECT_EQ(round(point, ShiftRule::delayed, 10, calls), 0);
}

TEST(Shifts, FrozenStayAsTheyWereSet) {
  RoundingPoint point("a.value", ShiftRounding::nearest, 0);
  point.set_shift(4);
  std::vector<int> calls;
  EXPECT_EQ(round(point, ShiftRule::frozen, 1, calls), 4);
  EXPECT_EQ(round(point, ShiftRule::frozen, 1 << 20, calls), 4);
  EXPECT_THAT(calls, ElementsAre(4));
  EXPECT_EQ(point.shift(), 4);
}

TEST(Shifts, AreThoseOfTheLargestSumOfAllRanks) {
  class Larger final : public Communicator {
   public:
    int rank() const override { return 0; }
    int size() const override { return 2; }
    void sum(std::span<std::int32_t>) override {}
    void sum(std::span<std::int64_t>) override {}
    void max(std::span<std::int64_t> values) override {
      values[0] = std::max<std::int64_t>(values[0], 5000);  // what the other rank has
    }
    void broadcast(std::span<std::byte>, int) override {}
    void barrier() override {}
  } cluster;
  RoundingPoint point("a.value", ShiftRounding::nearest, 0);
  Body body{100};
  EXPECT_EQ(point.round({ShiftRule::exact, {}, &cluster}, {},
                        [&](const RoundingJob& job) { return body(job); }),
            6);
}

constexpr std::string_view kNetwork = R"(
input = [4, 4, 3]
layers = [
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "b" },
  { op = "conv2d", name = "c", channels = 6, kernel = 3, padding = 1 },
  { op = "add", name = "d", from = ["b", "c"] },
  { op = "average_pool", kernel = 3, stride = 1 },
  { op = "flatten" }, { op = "dropout" },
  { op = "linear", name = "e", features = 7 },
])";

class Networks : public ::testing::Test {
 protected:
  Networks() : network_(network_of(kNetwork)), draws_(12) {
    const IntegerTape tape(network_, {});
    for (const TrainedTensor* each : tape.parameters())
      weights_.push_back(random_mantissas(each->size(), draws_));
  }

  void set_weights(const IntegerTape& tape) const {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      std::ranges::copy(weights_[i], tape.parameters()[i]->mantissas.as<std::int8_t>().begin());
  }

  // A batch whose numbers reach `most`.
  Block batch(std::int64_t images, int most) {
    return random_block({4, 4, 3}, images, -7, draws_, most);
  }

  static Block part(const Block& whole, std::int64_t first, std::int64_t count) {
    Block block{whole.picture, count, whole.exponent, {}};
    const std::int64_t size = whole.picture.elements();
    block.data.assign(whole.data.begin() + first * size,
                      whole.data.begin() + (first + count) * size);
    return block;
  }

  Network network_;
  Draws draws_;
  std::vector<std::vector<std::int8_t>> weights_;
};

// Two passes, one for the largest sum and one to round: whatever was guessed.
TEST_F(Networks, ExactIsTheTwoPassDefinitionWhateverWasGuessed) {
  std::vector<Block> batches;
  for (const int most : {127, 3, 0, 127}) batches.push_back(batch(9, most));
  on_every_path([&] {
    IntegerTape used(network_, {});
    set_weights(used);
    for (const Block& each : batches) {
      IntegerTape fresh(network_, {});
      set_weights(fresh);
      for (RoundingPoint* point : fresh.points()) point->set_shift(20);  // a bad guess
      const IntegerPass pass{.rule = {}, .all_images = 9, .pool = &fresh.pool()};
      const IntegerPass twice{.rule = {ShiftRule::exact, {}, nullptr, &used.pool()},
                              .all_images = 9,
                              .pool = &used.pool()};  // with a second guess
      const OwnBlock own(each);
      expect_same(plain(used.forward(twice, own.tensor())),
                  plain(fresh.forward(pass, own.tensor())), "answers");
    }
    EXPECT_GT(used.value_point(1)->misses(), 1);
  });
}

TEST_F(Networks, DelayedRoundsWithTheLastBatchsShiftsAndSaturates) {
  const Block small = batch(9, 12);
  const Block large = batch(9, 127);
  on_every_path([&] {
    IntegerTape tape(network_, {});
    set_weights(tape);
    const IntegerPass delayed{
        .rule = {ShiftRule::delayed, {}, nullptr}, .all_images = 9, .pool = &tape.pool()};
    const OwnBlock own_small(small);
    const OwnBlock own_large(large);
    tape.forward(delayed, own_small.tensor());
    const std::vector<int> exponents = tape.value_exponents();
    const Block second = plain(tape.forward(delayed, own_large.tensor()));
    EXPECT_GT(tape.value_point(1)->saturated(), 0);
    // The same as frozen at what the first batch left.
    IntegerTape frozen(network_, {});
    set_weights(frozen);
    frozen.freeze(exponents);
    const IntegerPass pass{
        .rule = {ShiftRule::frozen, {}, nullptr}, .all_images = 9, .pool = &frozen.pool()};
    expect_same(second, plain(frozen.forward(pass, own_large.tensor())), "answers");
    EXPECT_EQ(tape.value_point(1)->misses(), 1);
  });
}

TEST_F(Networks, FrozenAnswersDoNotDependOnNeighbours) {
  const Block examples = batch(40, 127);
  const Block questions = batch(18, 100);
  on_every_path([&] {
    IntegerPredictor predictor(network_);
    const IntegerTape tape(network_, {});
    for (std::size_t i = 0; i < weights_.size(); ++i)
      predictor.set_weight(i, weights_[i], tape.parameters()[i]->exponent);
    const OwnBlock own_examples(examples);
    const std::vector<int> exponents = predictor.calibrate(own_examples.tensor());
    predictor.freeze(exponents);
    const OwnBlock own(questions);
    const IntegerAnswers whole = predictor.answer(own.tensor(), ShiftRule::frozen);
    EXPECT_EQ(whole.exponent, exponents.back());
    EXPECT_EQ(whole.width, 7);
    for (std::int64_t i = 0; i < questions.images; ++i) {
      const OwnBlock one(part(questions, i, 1));
      const IntegerAnswers answer = predictor.answer(one.tensor(), ShiftRule::frozen);
      EXPECT_EQ(answer.exponent, whole.exponent);
      EXPECT_TRUE(std::equal(answer.mantissas.begin(), answer.mantissas.end(),
                             whole.mantissas.begin() + i * 7))
          << "image " << i;
    }
  });
}

TEST_F(Networks, ExponentsThatDoNotFitAreRefused) {
  IntegerTape tape(network_, {});
  set_weights(tape);
  const OwnBlock own(batch(9, 127));
  tape.forward({.rule = {}, .all_images = 9, .pool = &tape.pool()}, own.tensor());
  std::vector<int> exponents = tape.value_exponents();
  exponents[1] -= 40;
  EXPECT_THROW(tape.freeze(exponents), Error);
}

}  // namespace
}  // namespace nibble
