// SPDX-License-Identifier: Apache-2.0
#include "emit/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_random_network.h"

namespace nibble::inline emit {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> pieces_of(const EmitPlan& plan) {
  std::vector<std::string> names;
  for (const ArenaPiece& piece : plan.pieces) names.push_back(piece.name);
  return names;
}

class Plan : public ::testing::Test {
 protected:
  // A 3x3 convolution that keeps size and channels.
  std::size_t conv(std::size_t input) {
    const std::size_t node =
        maker_.add(Conv2d{.channels = 4, .kernel = {3, 3}, .padding = {1, 1}}, {input});
    maker_.with(tensor_of<std::int8_t>({4, 3, 3, 4}, dice_.many(144, -127, 127)));
    return node;
  }
  EmitPlan plan() const { return make_plan(NetworkView(maker_.model())); }

  Dice dice_{1};
  NetworkMaker maker_{{6, 6, 4}, integers_format("int8")};
};

TEST_F(Plan, FusesAPoolWhereverItStands) {
  conv(0);
  maker_.add(MaxPool{});
  maker_.add(Relu{});
  maker_.rescale(maker_.last(), {1}, 10, -127, 127);
  const EmitPlan made = plan();
  ASSERT_EQ(made.steps.size(), 1U);
  EXPECT_TRUE(made.steps[0].pool.has_value());
  EXPECT_EQ(made.steps[0].finish.low, 0);
  EXPECT_EQ(made.arena_bytes, 36U + 36U);  // the answer of 3x3x4 and the column of 3x3x4
}

TEST_F(Plan, LeavesOverlappingPoolsApart) {
  conv(0);
  maker_.rescale(maker_.last(), {1}, 10, -127, 127);
  maker_.add(MaxPool{.kernel = {3, 3}, .stride = {2, 2}});
  EXPECT_EQ(plan().steps.size(), 2U);
}

TEST_F(Plan, WritesASumOverItsOperand) {
  const std::size_t first = conv(0);
  const std::size_t a = maker_.rescale(first, {1}, 10, -127, 127);
  const std::size_t b = maker_.rescale(conv(a), {1}, 10, -127, 127);
  const std::size_t sum = conv(b);
  const std::size_t brought = maker_.rescale(a, {1000}, 3, -kMaxInteger, kMaxInteger);
  maker_.add(Add{}, {brought, sum});
  maker_.rescale(maker_.last(), {1}, 12, -127, 127);
  maker_.add(Flatten{});
  maker_.add(Linear{.features = 2});
  maker_.with(tensor_of<std::int8_t>({2, 144}, dice_.many(288, -7, 7)));
  const EmitPlan made = plan();
  EXPECT_EQ(made.steps.size(), 4U);
  EXPECT_THAT(pieces_of(made),
              ElementsAre("n2, n8", "column of n1", "n4", "column of n3", "column of n5", "n10"));
  EXPECT_EQ(made.steps[2].finish.addend.multipliers, std::vector<std::int64_t>{1000});
}

TEST_F(Plan, KeepsAnOperandThatIsReadAgain) {
  const std::size_t a = maker_.rescale(conv(0), {1}, 10, -127, 127);
  const std::size_t sum = conv(a);
  maker_.add(Add{}, {sum, a});  // the convolution reads what it would write over
  maker_.rescale(maker_.last(), {1}, 12, -127, 127);
  maker_.add(Concat{}, {maker_.last(), a});
  EXPECT_THAT(pieces_of(plan()), ElementsAre("n2", "column of n1", "n5", "column of n3", "n6"));
}

TEST_F(Plan, TakesAPadIntoItsConvolution) {
  const std::size_t pad = maker_.add(Pad{.before = {1, 0, 0}, .after = {0, 2, 0}});
  maker_.rescale(conv(pad), {1}, 10, -127, 127);
  const EmitPlan made = plan();
  ASSERT_EQ(made.steps.size(), 1U);
  EXPECT_EQ(made.steps[0].padding, (Extent2{2, 1}));
  EXPECT_EQ(made.steps[0].inputs[0].node, 0U);
}

TEST_F(Plan, GathersWhereAPadLiesBehind) {
  maker_.add(Pad{.before = {0, 0, 0}, .after = {1, 0, 0}});
  maker_.add(Conv2d{.channels = 1, .kernel = {1, 1}});
  maker_.with(tensor_of<std::int8_t>({1, 1, 1, 4}, {1, 2, 3, 4}));
  const NetworkView view(maker_.model());
  const std::vector<EmitStep> steps = make_steps(view);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_FALSE(is_pointwise(view, steps[0]));
}

TEST_F(Plan, KeepsWideRangesOfBytesInBytes) {
  maker_.rescale(conv(0), {1}, 10, -100, 155);
  maker_.rescale(conv(maker_.last()), {1}, 10, -127, 127);
  const EmitPlan made = plan();
  EXPECT_EQ(made.storage[2].type, CType::u8);
  EXPECT_EQ(made.storage[2].zero, 100);
}

TEST_F(Plan, KeepsACodeForTheZerosOfBorders) {
  maker_.rescale(conv(0), {1}, 10, -300, -100);
  maker_.rescale(conv(maker_.last()), {1}, 10, -127, 127);
  EXPECT_EQ(plan().storage[2].type, CType::s16);
}

TEST(PlanOfRandomNetworks, KeepsWhatIsUsedAtOneTimeApart) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Model model = RandomNetwork(seed).model();
    if (model.network.nodes.size() < 2) continue;
    const EmitPlan plan = make_plan(NetworkView(copy_of(model)));
    for (const ArenaPiece& a : plan.pieces) {
      EXPECT_LE(a.offset + a.bytes, plan.arena_bytes) << seed;
      for (const ArenaPiece& b : plan.pieces) {
        if (&a == &b || a.first > b.last || b.first > a.last) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace nibble::inline emit
