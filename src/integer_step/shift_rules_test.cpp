// SPDX-License-Identifier: Apache-2.0
// Whole networks under each rule of shifts: exact, delayed, frozen.
#include <gtest/gtest.h>

#include "integer_step/integer_test_support.h"
#include "integer_step/predictor.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {
namespace {

using reference::Block;

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
    const IntegerTape tape = new_tape();
    for (const TrainedTensor* each : tape.parameters())
      weights_.push_back(random_mantissas(each->size(), draws_));
  }

  IntegerTape new_tape() const { return IntegerTape(network_, {}, Placement(make_backend("cpu"))); }

  void set_weights(const IntegerTape& tape) const {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      tape.parameters()[i]->write_mantissas(weights_[i], tape.parameters()[i]->exponent());
  }

  static PointState state_of(const IntegerTape& tape, std::string_view name) {
    const auto found = std::ranges::find(tape.points(), name, &PlacedPoint::name);
    return tape.point_states()[static_cast<std::size_t>(found - tape.points().begin())];
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
    IntegerTape used = new_tape();
    set_weights(used);
    for (const Block& each : batches) {
      IntegerTape fresh = new_tape();
      set_weights(fresh);
      for (const PlacedPoint& point : fresh.points())
        point.backend->set_point(point.point, {.shift = 20});  // a bad guess
      // In training there are second guesses.
      const StepContext step{.is_training = true, .all_images = 9};
      const InputBatch input = input_of_block(each);
      expect_same(block_of(used, used.forward(step, input)),
                  block_of(fresh, fresh.forward(step, input)), "answers");
    }
    EXPECT_GT(state_of(used, "a.value").misses, 1);
  });
}

TEST_F(Networks, DelayedRoundsWithTheLastBatchsShiftsAndSaturates) {
  const Block small = batch(9, 12);
  const Block large = batch(9, 127);
  on_every_path([&] {
    IntegerTape tape = new_tape();
    set_weights(tape);
    const StepContext delayed{.rule = ShiftRule::delayed, .all_images = 9};
    tape.forward(delayed, input_of_block(small));
    const std::vector<int> exponents = tape.value_exponents();
    const Block second = block_of(tape, tape.forward(delayed, input_of_block(large)));
    EXPECT_GT(state_of(tape, "a.value").saturated, 0);
    // The same as frozen at what the first batch left.
    IntegerTape frozen = new_tape();
    set_weights(frozen);
    frozen.freeze(exponents);
    const StepContext step{.rule = ShiftRule::frozen, .all_images = 9};
    expect_same(second, block_of(frozen, frozen.forward(step, input_of_block(large))), "answers");
    EXPECT_EQ(state_of(tape, "a.value").misses, 1);
  });
}

TEST_F(Networks, FrozenAnswersDoNotDependOnNeighbours) {
  const Block examples = batch(40, 127);
  const Block questions = batch(18, 100);
  on_every_path([&] {
    IntegerPredictor predictor(network_);
    const IntegerTape tape = new_tape();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      Tensor weight(DType::i8, tape.parameters()[i]->shape());
      std::ranges::copy(weights_[i], weight.as<std::int8_t>().begin());
      predictor.set_weight(i, weight, tape.parameters()[i]->exponent());
    }
    const std::vector<int> exponents = predictor.calibrate(input_of_block(examples)).exponents;
    predictor.freeze({exponents, {}});
    const IntegerAnswers whole = predictor.answer(input_of_block(questions), ShiftRule::frozen);
    EXPECT_EQ(whole.exponent, exponents.back());
    EXPECT_EQ(whole.width, 7);
    for (std::int64_t i = 0; i < questions.images; ++i) {
      const Block one = part(questions, i, 1);
      const IntegerAnswers answer = predictor.answer(input_of_block(one), ShiftRule::frozen);
      EXPECT_EQ(answer.exponent, whole.exponent);
      EXPECT_TRUE(std::equal(answer.mantissas.begin(), answer.mantissas.end(),
                             whole.mantissas.begin() + i * 7))
          << "image " << i;
    }
  });
}

TEST_F(Networks, ExponentsThatDoNotFitAreRefused) {
  IntegerTape tape = new_tape();
  set_weights(tape);
  const Block examples = batch(9, 127);
  tape.forward({.all_images = 9}, input_of_block(examples));
  std::vector<int> exponents = tape.value_exponents();
  exponents[1] -= 40;
  EXPECT_THROW(tape.freeze(exponents), Error);
}

}  // namespace
}  // namespace nibble::inline integer_step
