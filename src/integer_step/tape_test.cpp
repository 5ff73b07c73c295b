// SPDX-License-Identifier: Apache-2.0
// Networks on the tape against their definition, bit for bit: every operation, values with several
// readers, errors that meet.
#include "integer_step/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integer_step/integer_test_support.h"
#include "integer_step/session.h"
#include "nibble/core/error.h"

namespace nibble::inline integer_step {
namespace {

using reference::Block;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PartOf, CutsWhateverABatchHolds) {
  const std::vector<std::uint8_t> bytes = {0, 1, 10, 11, 20, 21};
  const std::vector<std::int8_t> mantissas = {0, 1, 10, 11, 20, 21};
  const std::vector<std::int32_t> indices = {7, 8, 9};
  const InputBatch batch{
      .images = 3,
      .bytes = bytes,
      .selection = ImageSelection{.images = {}, .indices = indices, .augment = {}, .key = {}},
      .mantissas = mantissas};
  const InputBatch part = part_of(batch, 1, 2);
  EXPECT_EQ(part.images, 2);
  EXPECT_THAT(part.bytes, ElementsAre(10, 11, 20, 21));
  EXPECT_THAT(part.mantissas, ElementsAre(10, 11, 20, 21));
  EXPECT_THAT(part.selection->indices, ElementsAre(8, 9));
  EXPECT_TRUE(part_of(batch, 3, 0).bytes.empty());  // more ranks than images
}

TEST(IntegerTape, MaxPoolsPassTheFirstOfEqualsAndItsError) {
  expect_as_defined(R"(
input = [7, 6, 3]
layers = [
  { op = "conv2d", channels = 5, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "conv2d", channels = 3, kernel = 1 },
  { op = "max_pool", kernel = 3, stride = 1, padding = 1 },
  { op = "flatten" }, { op = "linear", features = 4 },
])",
                    {17, 16});
}

TEST(IntegerTape, OverlappingWindowsAddTheirErrors) {
  expect_as_defined(R"(
input = [6, 7, 4]
layers = [
  { op = "conv2d", channels = 6, kernel = 1 },
  { op = "max_pool", kernel = 3, stride = 2, padding = 1 },
  { op = "conv2d", channels = 6, kernel = 1 },
  { op = "max_pool", kernel = [2, 3], stride = 1 },
])",
                    {15, 33});
}

TEST(IntegerTape, AveragePoolsMultiplyByTheReciprocalInUnitsOf2To15) {
  expect_as_defined(R"(
input = [7, 7, 3]
layers = [
  { op = "conv2d", channels = 5, kernel = 3, padding = 1 },
  { op = "average_pool", kernel = 3, stride = 2, padding = 1 },
  { op = "conv2d", channels = 7, kernel = 1 }, { op = "relu" },
  { op = "average_pool", kernel = 2, stride = 1, padding = 1, counts_padding = false },
  { op = "conv2d", channels = 5, kernel = 1 },
  { op = "global_average_pool" },
  { op = "linear", features = 3 },
])",
                    {16, 17});
}

TEST(IntegerTape, Relu6CutsAtSixWhereverTheExponentPutsIt) {
  const Network network = network_of(R"(
input = [3, 3, 8]
layers = [
  { op = "conv2d", channels = 20, kernel = 3, padding = 1 }, { op = "relu6" },
  { op = "conv2d", channels = 5, kernel = 1 }, { op = "relu" },
  { op = "conv2d", channels = 20, kernel = 1 },
])");
  on_every_path([&] {
    for (const int exponent : {-12, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 5}) {
      SCOPED_TRACE(exponent);
      Twins(network).step(17, 3, {}, exponent);
    }
  });
}

constexpr std::string_view kDropout = R"(
input = [4, 4, 3]
layers = [
  { op = "conv2d", channels = 6, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "dropout", share = 0.75 },
  { op = "conv2d", channels = 5, kernel = 1 },
  { op = "dropout", share = 0 },
  { op = "flatten" }, { op = "dropout" }, { op = "linear", features = 10 },
])";

TEST(IntegerTape, DropoutHasOneMaskForTheBatchAndNoneInEvaluation) {
  expect_as_defined(kDropout, {17, 33});
  expect_as_defined(kDropout, {17}, {.is_training = false});
}

TEST(IntegerTape, DropoutKeepsTheShareThatItSays) {
  const Network network = network_of(R"(
input = [4000]
layers = [ { op = "dropout", name = "half" }, { op = "dropout", name = "quarter", share = 0.75 } ])");
  IntegerTape tape(network, {}, Placement(make_backend("cpu")));
  Block input{{1, 1, 4000}, 2, -7, {}};
  input.data.assign(input.size(), 1);
  const StepContext step{.random = {3, 0, 8}, .is_training = true, .all_images = 2};
  const Block answer = block_of(tape, tape.forward(step, input_of_block(input)));
  EXPECT_EQ(answer.exponent, -7 + 1 + 2);
  const auto kept = std::ranges::count(answer.data, 1);
  EXPECT_NEAR(static_cast<double>(kept), 1000, 130);  // 4 deviations
  for (std::size_t i = 0; i < 4000; ++i) EXPECT_EQ(answer.data[i], answer.data[i + 4000]);
}

TEST(IntegerTape, OtherSharesAreRefused) {
  const Network network =
      network_of("input = [4]\nlayers = [ { op = \"dropout\", name = \"most\", share = 0.6 } ]");
  try {
    IntegerTape tape(network, {}, Placement(make_backend("cpu")));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("layer most: got a share that is no 1 - 2^-k"));
  }
}

constexpr std::string_view kResidual = R"(
input = [6, 5, 3]
layers = [
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "a1" },
  { op = "conv2d", name = "b", channels = 6, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "conv2d", name = "c", channels = 6, kernel = 3, padding = 1 },
  { op = "add", name = "sum", from = ["c", "a1"] }, { op = "relu", name = "d" },
  { op = "conv2d", name = "e", channels = 10, kernel = 3, stride = 2, padding = 1 },
  { op = "slice", from = "d", step = [2, 2, 1] },
  { op = "pad", name = "padded", before = [0, 0, 1], after = [0, 0, 3] },
  { op = "add", name = "f", from = ["e", "padded"] },
  { op = "bias", name = "g" },
  { op = "conv2d", name = "h", from = "g", channels = 3, kernel = 1 },
  { op = "conv2d", name = "i", from = "g", channels = 5, kernel = 1 },
  { op = "concat", name = "j", from = ["h", "g", "i"] },
  { op = "add", name = "twice", from = ["j", "j"] },
  { op = "global_average_pool" },
  { op = "linear", features = 10, bias = true },
])";

TEST(IntegerTape, ResidualNetworksJoinTheErrorsOfAllReaders) {
  expect_as_defined(kResidual, {16, 17, 5});
}

TEST(IntegerTape, SliceAndPadMoveNumbersAlongEveryAxis) {
  expect_as_defined(R"(
input = [7, 6, 5]
layers = [
  { op = "conv2d", channels = 7, kernel = 1 },
  { op = "slice", begin = [1, 0, 2], end = [6, 5, 7], step = [2, 3, 2] },
  { op = "pad", before = [1, 0, 2], after = [0, 2, 1] },
  { op = "conv2d", channels = 5, kernel = 3, padding = 1 },
])",
                    {17});
}

TEST(IntegerTape, VectorsAreSlicedPaddedBiasedAndConcatenated) {
  expect_as_defined(R"(
input = [12]
layers = [
  { op = "linear", name = "a", features = 9 }, { op = "bias", name = "b" },
  { op = "slice", name = "c", begin = [1], step = [3] },
  { op = "pad", name = "d", before = [2], after = [1] },
  { op = "concat", from = ["d", "b"] },
  { op = "linear", features = 5 },
])",
                    {17, 3});
}

// Flattening moves nothing, so an operation that counts features must see them as the network does.
TEST(IntegerTape, WhatFollowsAFlattenedPictureIsDefinedOrRefused) {
  for (const std::string_view op :
       {R"({ op = "bias" })", R"({ op = "slice", begin = [5], step = [2] })",
        R"({ op = "pad", before = [3] })", R"({ op = "relu" })", R"({ op = "dropout" })"}) {
    SCOPED_TRACE(op);
    const std::string toml =
        "input = [4, 3, 5]\nlayers = [ { op = \"conv2d\", channels = 6, kernel = 1 }, "
        "{ op = \"flatten\" }, " +
        std::string(op) + ", { op = \"linear\", features = 4 } ]";
    try {
      expect_as_defined(toml, {17});
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("flattened"));
      set_thread_count(0);
      reset_isa();
    }
  }
}

TEST(IntegerTape, ValuesRoundStochasticallyByTheirPlaceInTheBatchOfAllRanks) {
  const Network network = network_of(R"(
input = [3, 3, 5]
layers = [ { op = "conv2d", name = "conv", channels = 6, kernel = 3, padding = 1 } ])");
  IntegerRoundings roundings;
  roundings.layers = {{"conv", {.value = ShiftRounding::stochastic}}};
  Draws draws(4);
  const Block batch = random_block({3, 3, 5}, 20, -7, draws);
  const auto weights = random_mantissas(6 * 9 * 5, draws);
  const RandomKey random{11, 0, 3};
  const auto answers = [&](std::int64_t first, std::int64_t count) {
    IntegerTape tape(network, roundings, Placement(make_backend("cpu")));
    tape.parameters()[0]->write_mantissas(weights, tape.parameters()[0]->exponent());
    const PlacedPoint& point = *std::ranges::find(tape.points(), "conv.value", &PlacedPoint::name);
    point.backend->set_point(point.point, {.shift = 9});
    Block part{batch.picture, count, batch.exponent, {}};
    part.data.assign(batch.data.begin() + first * 45, batch.data.begin() + (first + count) * 45);
    const StepContext step{.rule = ShiftRule::frozen,
                           .random = random,
                           .is_training = true,
                           .first_image = first,
                           .all_images = 20};
    return block_of(tape, tape.forward(step, input_of_block(part))).data;
  };
  const auto whole = answers(0, 20);
  auto parts = answers(0, 7);
  for (const std::int8_t each : answers(7, 13)) parts.push_back(each);
  EXPECT_EQ(parts, whole);
  // And each is the definition.
  reference::Sums sums(whole.size());
  const Block shape{{3, 3, 6}, 20};
  reference::for_each_product({.channels = 6, .padding = {1, 1}}, batch, shape,
                              [&](std::size_t i, std::size_t w, std::size_t o) {
                                sums[o] += std::int64_t{batch.data[i]} * weights[w];
                              });
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const RandomKey key{11, kIntegerRoundingStreams + 8, 3};
    EXPECT_EQ(whole[i], clamp127(shift_stochastic(sums[i], 9, draw32(key, i)))) << i;
  }
}

TEST(IntegerTape, OperationsWithoutAnIntegerFormAreRefusedByName) {
  const auto error_of = [](std::string_view toml) -> std::string {
    const Network network = network_of(toml);
    try {
      const IntegerSession session(network, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("input = [4]\nlayers = [ { op = \"rescale\", name = \"r\" }, "
                       "{ op = \"softmax_cross_entropy\" } ]"),
              HasSubstr("layer r: got rescale"));
  EXPECT_THAT(error_of("input = [4, 4, 1]\nlayers = [ { op = \"flatten\" }, { op = \"batch_norm\", "
                       "name = \"bn\" }, { op = \"softmax_cross_entropy\" } ]"),
              HasSubstr("layer bn: got a flattened picture"));
  EXPECT_THAT(error_of("input = [4]\nlayers = [ { op = \"linear\", features = 2 } ]"),
              HasSubstr("a loss at the end"));
  EXPECT_THAT(error_of("input = [4, 4, 2]\nlayers = [ { op = \"flatten\" }, "
                       "{ op = \"softmax_cross_entropy\" } ]"),
              HasSubstr("an answer of one pixel"));
}

// All sums are 0, so every exponent falls: no shift may leave its range.
TEST(IntegerTape, ADeepNetworkOfZerosStaysInRange) {
  std::string toml = "input = [3, 3, 4]\nlayers = [\n";
  for (int i = 0; i < 12; ++i)
    toml += "{ op = \"conv2d\", channels = 4, padding = 1, bias = true }, { op = \"relu\" },\n";
  toml +=
      "{ op = \"global_average_pool\" }, { op = \"linear\", features = 3, bias = true },"
      "{ op = \"softmax_cross_entropy\" } ]";
  const Network network = network_of(toml);
  IntegerSession session(network, {});
  const Block zeros{{3, 3, 4}, 2, -7, std::vector<std::int8_t>(72, 0)};
  const std::vector<std::int32_t> labels = {0, 2};
  for (int step = 0; step < 3; ++step)
    session.step({.input = input_of_block(zeros), .labels = labels, .all_images = 2});
  EXPECT_EQ(session.steps(), 3);
}

}  // namespace
}  // namespace nibble::inline integer_step
