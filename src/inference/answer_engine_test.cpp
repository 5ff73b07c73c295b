// SPDX-License-Identifier: Apache-2.0
// Tests of what integers stand for.
#include "nibble/inference/answer_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inference/harness_test_support.h"

namespace nibble::inline inference {
namespace {

using ::testing::ElementsAre;

std::vector<float> reals_of(const AnswerEngine& engine) {
  std::vector<std::byte> input;
  for (const int value : {1, 10, -3, 2, 20, -3, 3, 30, -3, 4, 40, -3})
    input.push_back(static_cast<std::byte>(value));
  std::vector<std::byte> integers(engine.engine().output().bytes);
  engine.engine().run(input, 1, integers);
  std::vector<float> reals(3);
  engine.to_reals(integers, reals);
  return reals;
}

// (10, 101, -10) are the sums with their biases.
TEST(AnswerEngine, ADivisorDividesWhatEntersIt) {
  const AnswerEngine engine(channel_sums(true));
  EXPECT_TRUE(engine.has_divisor());
  EXPECT_EQ(engine.network().nodes.size(), 5U);
  EXPECT_EQ(engine.engine().output().name, "bias");
  EXPECT_EQ(engine.engine().output().dtype, DType::i32);
  EXPECT_THAT(reals_of(engine), ElementsAre(5.0F, 25.25F, -1.25F));
}

TEST(AnswerEngine, OtherwiseTheFormatsScaleMultiplies) {
  EXPECT_THAT(reals_of(AnswerEngine(channel_sums(false))), ElementsAre(10.0F, 101.0F, -10.0F));
  Model model = channel_sums(false);
  model.network.nodes.back().value.format = parse_format("int16(scale=0.25)");
  const AnswerEngine engine(std::move(model));
  EXPECT_FALSE(engine.has_divisor());
  EXPECT_FALSE(engine.gives_class());
  EXPECT_THAT(reals_of(engine), ElementsAre(2.5F, 25.25F, -2.5F));
}

// Of three answers, as they are and divided by 2, 4 and 8.
TEST(AnswerEngine, FindsTheClassOfEachAnswer) {
  const std::vector<std::int32_t> integers = {40, 50, 0, 7, 7, 7, -9, -8, -30};
  std::vector<std::int32_t> classes(3, -1);
  AnswerEngine(channel_sums(false)).find_classes(std::as_bytes(std::span(integers)), classes);
  EXPECT_THAT(classes, ElementsAre(1, 0, 1));
  AnswerEngine(channel_sums(true)).find_classes(std::as_bytes(std::span(integers)), classes);
  EXPECT_THAT(classes, ElementsAre(0, 0, 1));
}

// The classes are those of the reals, whichever way they are found: by the integers as long as
// their reals have the same order, which beyond 2^24 they have not.
TEST(AnswerEngine, FindsTheClassOfTheLargestReal) {
  constexpr std::int32_t kLarge = 1 << 24;
  const std::vector<std::int32_t> integers = {kLarge, kLarge + 1, 0, -kLarge - 1, -kLarge, -kLarge,
                                              4,      3,          5, 0,           -1,      0};
  for (const bool is_large : {false, true}) {
    Model model = channel_sums(false);
    if (is_large) model.parameters[0] = tensor_of<std::int32_t>({3}, {kLarge, kLarge, -kLarge});
    model.network.nodes.back().value.format = parse_format("int16(scale=0.1)");
    const AnswerEngine engine(std::move(model));
    const auto known = std::span(integers).subspan(is_large ? 0 : 6);
    std::vector<float> reals(known.size());
    engine.to_reals(std::as_bytes(known), reals);
    std::vector<std::int32_t> classes(known.size() / 3, -1);
    engine.find_classes(std::as_bytes(known), classes);
    for (std::size_t i = 0; i < classes.size(); ++i)
      EXPECT_EQ(classes[i], largest(std::span(reals).subspan(3 * i, 3), 1)[0]) << i;
    EXPECT_EQ(classes[0], is_large ? 0 : 2);
  }
}

TEST(AnswerEngine, OfEqualNumbersTheFirstIsLarger) {
  const std::vector<float> reals = {1, 3, 3, -1, 2, 3};
  EXPECT_THAT(largest(reals, 4), ElementsAre(1, 2, 5, 4));
  EXPECT_THAT(largest(reals, 9), ElementsAre(1, 2, 5, 4, 0, 3));
}

}  // namespace
}  // namespace nibble::inline inference
