// SPDX-License-Identifier: Apache-2.0
// Small networks made by hand against their definitions, sums beyond 32 bits, many runs at once.
#include "nibble/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/isa.h"
#include "engine/test_engine_fixture.h"
#include "graph/parameters.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

class EngineTest : public EngineFixture {};

TEST_F(EngineTest, RunsConvolutions) {
  const Conv2d windows[] = {
      {.channels = 5, .kernel = {1, 1}},
      {.channels = 20, .kernel = {3, 3}, .padding = {1, 1}, .has_bias = true},
      {.channels = 65, .kernel = {3, 2}, .stride = {2, 1}, .padding = {2, 1}},
      {.channels = 7, .kernel = {2, 3}, .stride = {1, 3}, .padding = {3, 3}, .dilation = {2, 2}},
      {.channels = 12, .kernel = {3, 3}, .padding = {1, 1}, .groups = 4, .has_bias = true},
      {.channels = 8, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .groups = 8},
      {.channels = 16, .kernel = {3, 1}, .padding = {1, 0}, .dilation = {2, 1}, .groups = 8},
  };
  for (const Conv2d& window : windows) {
    NetworkMaker maker = picture(8);
    maker.add(window);
    give_numbers(maker, {window.channels, window.kernel.y, window.kernel.x, 8 / window.groups}, 127,
                 window.has_bias);
    check_picture(maker);
    rescale_bytes(maker, window.channels);
    check_picture(maker);
  }
}

// Of 64 channels, which matrices read where they lie.
TEST_F(EngineTest, RunsConvolutionsWhoseWindowsOverlap) {
  const Conv2d windows[] = {
      {.kernel = {3, 3}, .padding = {1, 1}},
      {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
      {.kernel = {3, 3}, .stride = {2, 2}},
      {.kernel = {2, 5}, .stride = {1, 3}, .padding = {0, 2}},
      {.kernel = {5, 2}, .stride = {3, 1}, .padding = {2, 1}},
      {.kernel = {3, 3}, .stride = {2, 2}, .padding = {2, 3}, .dilation = {2, 3}},
      {.kernel = {3, 3}, .stride = {2, 3}, .padding = {4, 4}},  // more zeros than windows need
      {.kernel = {1, 1}, .stride = {2, 2}},                     // do not overlap
  };
  for (Conv2d window : windows) {
    NetworkMaker maker = picture(64);
    window.channels = 20;
    maker.add(window);
    give_numbers(maker, {20, window.kernel.y, window.kernel.x, 64}, 127);
    check_picture(maker);
  }
}

TEST_F(EngineTest, RunsConvolutionsOfThinPictures) {
  for (const std::int64_t channels : {1, 2, 3, 5}) {
    for (const std::int64_t kernel : {1, 3, 7}) {
      NetworkMaker maker = picture(channels);
      maker.add(Conv2d{.channels = 10,
                       .kernel = {kernel, kernel},
                       .stride = {2, 2},
                       .padding = {kernel / 2, kernel / 2}});
      give_numbers(maker, {10, kernel, kernel, channels}, 127);
      check_picture(maker);
    }
  }
}

TEST_F(EngineTest, RunsLinearLayersOnPicturesAndVectors) {
  NetworkMaker maker = picture(5);
  maker.add(Flatten{});
  maker.add(Linear{.features = 30, .has_bias = true});
  give_numbers(maker, {30, 6 * 7 * 5}, 127, true);
  rescale_bytes(maker, 30);
  maker.add(Relu{});
  maker.add(Linear{.features = 70});
  give_numbers(maker, {70, 30}, 127);
  check_picture(maker);
}

TEST_F(EngineTest, RunsBiasAndReluBeforeAndBehindARescale) {
  for (const bool is_before : {false, true}) {
    NetworkMaker maker = picture(4);
    maker.add(Conv2d{.channels = 9, .kernel = {3, 3}});
    give_numbers(maker, {9, 3, 3, 4}, 127);
    maker.add(Bias{});
    maker.with(tensor_of<std::int32_t>({9}, dice_.many(9, -100000, 100000)));
    if (is_before) maker.add(Relu{});
    rescale_bytes(maker, 9);
    if (!is_before) maker.add(Relu{});
    maker.add(Bias{});
    maker.with(tensor_of<std::int16_t>({9}, dice_.many(9, -300, 300)));
    check_picture(maker);
  }
}

TEST_F(EngineTest, RunsPoolsWithBordersAndWindowsOfManyPixels) {
  for (const std::int64_t kernel : {2, 3, 6}) {
    for (const std::int64_t padding : {std::int64_t{0}, kernel / 2}) {
      NetworkMaker largest = picture(6);
      largest.add(MaxPool{{kernel, kernel}, {2, 1}, {padding, kernel - 1}});
      check_picture(largest);
      NetworkMaker sums = picture(6);
      sums.add(SumPool{{kernel, kernel}, {1, 2}, {padding, padding}});
      check_picture(sums);
      sums.rescale(sums.last(), {3641}, 15, -127, 127);
      check_picture(sums);
    }
  }
  NetworkMaker wide({12, 12, 3}, integers_format("uint8", 128));  // 144 pixels: three pieces
  const std::size_t pooled = wide.add(MaxPool{{12, 12}, {1, 1}, {5, 5}});
  wide.add(SumPool{{11, 11}, {1, 1}, {0, 0}}, {pooled});
  wide.rescale(wide.last(), {1}, 7, -127, 127);
  check(wide, -128, 127);
}

TEST_F(EngineTest, RescalesSumsOfPoolsByChannelBehindAFlatten) {
  for (const std::int64_t rows : {6, 3}) {  // one pixel, then several
    for (const bool is_per_channel : {false, true}) {
      NetworkMaker maker = picture(5);
      maker.add(SumPool{{rows, 7}, {rows, 1}, {0, 0}});
      maker.add(Flatten{});
      maker.rescale(maker.last(), dice_.many(is_per_channel ? 5 * 6 / rows : 1, 0, 900), 15, -127,
                    127);
      check_picture(maker);
      maker.add(Linear{.features = 3});
      give_numbers(maker, {3, 5 * 6 / rows}, 127);
      check_picture(maker);
    }
  }
}

TEST_F(EngineTest, FlattensSumsOfPoolsForALinearLayer) {
  NetworkMaker maker({4, 4, 3}, integers_format("uint4"));
  maker.add(SumPool{{4, 4}, {1, 1}, {0, 0}});
  maker.add(Flatten{});
  maker.add(Linear{.features = 3});
  give_numbers(maker, {3, 3}, 127);
  check(maker, 0, 15);
}

TEST_F(EngineTest, JoinsCutsAndPads) {
  NetworkMaker maker = picture(5);
  const std::size_t slice =
      maker.add(Slice{.begin = {1, 0, 1}, .end = {6, 0, 4}, .step = {2, 3, 2}});    // (3, 3, 2)
  const std::size_t pad = maker.add(Pad{.before = {0, 1, 2}, .after = {1, 0, 1}});  // (4, 4, 5)
  const std::size_t other =
      maker.add(Slice{.begin = {0, 0, 0}, .end = {4, 4, 0}, .step = {1, 1, 1}}, {0});  // (4, 4, 5)
  const std::size_t both = maker.add(Concat{}, {pad, other, pad});
  const std::size_t twice = maker.add(Add{}, {both, both, both});
  maker.add(Flatten{}, {twice});
  maker.add(Slice{.begin = {3}, .end = {0}, .step = {7}});
  maker.add(Pad{.before = {2}, .after = {1}});
  ASSERT_LT(slice, pad);
  check_picture(maker);
}

TEST_F(EngineTest, RescalesByChannelWithZeroMultipliers) {
  for (const std::int64_t shift : {0, 1, 7, 31, 40, 62}) {
    NetworkMaker maker = picture(6);
    maker.rescale(0, {0, 1, 64, 0, 127, kMaxInteger}, shift, -100, 90);
    check_picture(maker);
    NetworkMaker fused = picture(6);
    fused.add(Conv2d{.channels = 6, .kernel = {2, 2}});
    give_numbers(fused, {6, 2, 2, 6}, 127);
    fused.rescale(fused.last(), {0, 1, 1000, 0, 1 << 20, kMaxInteger}, shift, -100, 90);
    check_picture(fused);
  }
}

TEST_F(EngineTest, LooksUpTables) {
  Integers sigmoid;
  for (std::int64_t x = -128; x < 128; ++x)
    sigmoid.push_back(std::lround(255 / (1 + std::exp(-static_cast<double>(x) / 16))));
  NetworkMaker maker = picture(3);
  maker.add(Table{.first = -128});
  maker.with(tensor_of<std::uint8_t>({kTableEntries}, sigmoid));
  check_picture(maker);
  maker.add(Table{.first = 0});
  maker.with(tensor_of<std::int32_t>({kTableEntries},
                                     dice_.many(kTableEntries, -kMaxInteger, kMaxInteger)));
  check_picture(maker);
}

TEST_F(EngineTest, DividesBySumsOfATable) {
  for (const std::int64_t high : {1, 255, 100000}) {
    NetworkMaker maker({11}, integers_format("int8"));
    maker.add(SoftmaxTable{.high = high});
    Integers table;
    for (std::int64_t d = 0; d < kTableEntries; ++d)
      table.push_back(std::lround(2147483647.0 * std::exp(-static_cast<double>(d) / 8)));
    maker.with(tensor_of<std::int32_t>({kTableEntries}, table));
    check(maker, -128, 127);
  }
}

TEST_F(EngineTest, TakesTheFirstOfTheLargest) {
  NetworkMaker maker({7}, integers_format("int4"));
  maker.add(ArgMax{});
  check(maker, -8, 7);
  const Engine engine(maker.model());
  EXPECT_EQ(answers_of(engine, {1, 5, 2, 5, 5, 0, -8}, 1), Integers{1});
  EXPECT_EQ(answers_of(engine, {-8, -8, -8, -8, -8, -8, -8}, 1), Integers{0});
}

TEST_F(EngineTest, TakesValuesWithoutTheirZeroPoint) {
  NetworkMaker half({5, 5, 3}, integers_format("uint8", 128));
  half.add(Conv2d{.channels = 4, .kernel = {3, 3}, .padding = {1, 1}});
  give_numbers(half, {4, 3, 3, 3}, 127);
  check(half, -128, 127);
  EXPECT_EQ(Engine(half.model()).input().dtype, DType::i8);
  NetworkMaker odd({5, 5, 4}, integers_format("uint8", 100));  // no byte holds -100 to 155
  odd.add(Conv2d{.channels = 4, .kernel = {3, 3}, .padding = {1, 1}});
  give_numbers(odd, {4, 3, 3, 4}, 127);
  check(odd, -100, 155);
  const Engine engine(odd.model());  // as bytes all the same
  EXPECT_EQ(engine.input().dtype, DType::u8);
  EXPECT_EQ(engine.input().zero, 100);
  EXPECT_EQ(engine.input().bytes, 100U);
  for (const std::int64_t channels : {3, 4, 65}) {
    for (const int zero : {-90, 17, 120}) {
      NetworkMaker maker({5, 6, channels}, integers_format("int8", zero));
      maker.add(Conv2d{.channels = 5, .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 2}});
      give_numbers(maker, {5, 3, 3, channels}, 127);
      rescale_bytes(maker, 5);
      check(maker, -128 - zero, 127 - zero);
      EXPECT_EQ(Engine(maker.model()).input().dtype, DType::i8);
      EXPECT_EQ(Engine(maker.model()).input().zero, zero);
    }
  }
}

TEST_F(EngineTest, ReadsPackedWeights) {
  for (const std::int64_t channels : {3, 64}) {
    NetworkMaker maker = picture(channels);
    maker.add(Conv2d{.channels = 70, .kernel = {3, 3}, .padding = {1, 1}});
    maker.set_weight_format("int4");
    const Integers numbers = dice_.many(70 * 9 * channels, -8, 7);
    const std::vector<std::int8_t> small(numbers.begin(), numbers.end());
    const std::vector<std::uint8_t> bytes = packed_weights(small, 4);
    maker.with(tensor_of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())},
                                       {bytes.begin(), bytes.end()}));
    rescale_bytes(maker, 70);
    check_picture(maker);
  }
}

// Values of 0 to 15 in 64 or 128 channels lie two to a byte.
TEST_F(EngineTest, PassesHalvesOfBytes) {
  for (const std::int64_t channels : {64, 128}) {
    NetworkMaker maker = picture(3);
    maker.add(Conv2d{.channels = channels, .kernel = {3, 3}, .padding = {1, 1}});
    give_numbers(maker, {channels, 3, 3, 3}, 127);
    const std::size_t first = maker.rescale(maker.last(), dice_.many(channels, 1, 60), 18, 0, 15);
    maker.add(Conv2d{.channels = channels, .kernel = {3, 3}, .padding = {1, 1}});
    give_numbers(maker, {channels, 3, 3, channels}, 127);
    const std::size_t sum = maker.last();
    const std::size_t other =
        maker.rescale(first, dice_.many(channels, 0, 90000), 4, -kMaxInteger, kMaxInteger);
    maker.add(Add{}, {sum, other});
    maker.rescale(maker.last(), dice_.many(channels, 1, 60), 19, 0, 15);
    maker.add(MaxPool{{3, 3}, {2, 2}, {1, 1}});
    maker.add(Flatten{});
    maker.add(Linear{.features = 12});
    give_numbers(maker, {12, 3 * 4 * channels}, 127);
    check_picture(maker);
  }
}

// One reader takes halves of bytes, the other does not.
TEST_F(EngineTest, PoolsWhatIsAlsoAdded) {
  NetworkMaker maker = picture(3);
  maker.add(Conv2d{.channels = 64, .kernel = {1, 1}});
  give_numbers(maker, {64, 1, 1, 3}, 127);
  const std::size_t value = maker.rescale(maker.last(), {50}, 15, 0, 15);
  maker.add(Conv2d{.channels = 64, .kernel = {1, 1}});
  give_numbers(maker, {64, 1, 1, 64}, 127);
  maker.add(Add{}, {maker.last(), value});
  rescale_bytes(maker, 64);
  const std::size_t sum = maker.add(Flatten{});
  maker.add(SumPool{{6, 7}, {1, 1}, {0, 0}}, {value});
  maker.rescale(maker.last(), {3}, 3, -127, 127);
  maker.add(Concat{}, {sum, maker.add(Flatten{})});
  check_picture(maker);
}

TEST_F(EngineTest, RescalesSumsOfPoolsToHalvesOfBytes) {
  NetworkMaker maker = picture(64);
  maker.add(SumPool{{3, 3}, {1, 1}, {1, 1}});
  maker.rescale(maker.last(), {3}, 6, 0, 15);
  maker.add(Conv2d{.channels = 3, .kernel = {1, 1}});
  give_numbers(maker, {3, 1, 1, 64}, 127);
  check_picture(maker);
}

// Sums below 0 are the relu's; multiplied at once they need more than 32 bits.
TEST_F(EngineTest, RescalesBehindAReluWhatIsFarBelowZero) {
  NetworkMaker maker({6, 7, 8}, integers_format("uint8"));
  maker.add(Conv2d{.channels = 17, .kernel = {3, 3}});
  maker.with(tensor_of<std::int8_t>({17, 3, 3, 8}, dice_.many(17 * 72, -127, 3)));
  maker.add(Relu{});
  maker.rescale(maker.last(), {1 << 14}, 24, -128, 127);
  check(maker, 0, 255);
}

TEST_F(EngineTest, AddsToSumsOfLargeValues) {
  NetworkMaker maker({4, 4, 3}, integers_format("int16"));
  maker.add(Conv2d{.channels = 3, .kernel = {1, 1}});
  give_numbers(maker, {3, 1, 1, 3}, 5);
  const std::size_t sum = maker.last();
  const std::size_t other = maker.rescale(0, {1}, 8, -127, 127);
  maker.add(Add{}, {sum, other});
  rescale_bytes(maker, 3);
  check(maker, -32768, 32767);
}

TEST_F(EngineTest, AddsResidualsInOnePass) {
  for (const bool has_rescale : {false, true}) {
    NetworkMaker maker = picture(17);
    maker.add(Conv2d{.channels = 17, .kernel = {3, 3}, .padding = {1, 1}});
    give_numbers(maker, {17, 3, 3, 17}, 127);
    const std::size_t sum = maker.last();
    std::size_t other = 0;
    if (has_rescale)
      other = maker.rescale(0, dice_.many(17, 0, 70000), 5, -kMaxInteger, kMaxInteger);
    maker.add(Add{}, {other, sum});
    maker.add(Relu{});
    rescale_bytes(maker, 17);
    check_picture(maker);
    const Engine engine(maker.model());
    ASSERT_EQ(engine.steps().size(), 1U);
    EXPECT_EQ(engine.steps()[0].kind, "conv2d 3x3 + add + rescale");
  }
}

// Both terms of a sum could be the one that is fused, and the rescale between could be either's.
TEST_F(EngineTest, AddsTwoProductsOfFewBits) {
  for (const int first_rescaled : {0, 1, 2}) {
    NetworkMaker maker({4, 4, 3}, integers_format("int4"));
    std::size_t terms[2];
    for (int k = 0; k < 2; ++k) {
      maker.add(Conv2d{.channels = 3, .kernel = {1, 1}}, {0});
      give_numbers(maker, {3, 1, 1, 3}, 2);
      terms[k] = maker.last();
    }
    if (first_rescaled > 0)
      terms[first_rescaled - 1] =
          maker.rescale(terms[first_rescaled - 1], {3}, 0, -kMaxInteger, kMaxInteger);
    maker.add(Add{}, {terms[0], terms[1]});
    rescale_bytes(maker, 3);
    check(maker, -8, 7);
  }
}

// 2^18 products of 127·127 are some 2^32.
TEST_F(EngineTest, SumsBeyond32BitsAreExact) {
  constexpr std::int64_t kDepth = std::int64_t{1} << 18;
  NetworkMaker maker({kDepth}, integers_format("int8"));
  maker.add(Linear{.features = 2, .has_bias = true});
  Integers weights(static_cast<std::size_t>(2 * kDepth), 127);
  std::fill(weights.begin() + kDepth, weights.end(), -127);
  maker.with(tensor_of<std::int8_t>({2, kDepth}, weights));
  maker.with(tensor_of<std::int32_t>({2}, {kMaxInteger, -kMaxInteger}));
  maker.rescale(maker.last(), {1, 1}, 3, -kMaxInteger, kMaxInteger);
  const Engine engine(maker.model());
  ASSERT_EQ(engine.steps().size(), 1U);
  EXPECT_TRUE(engine.steps()[0].is_wide);
  const std::int64_t sum = kDepth * 127 * 127 + kMaxInteger;
  ASSERT_GT(sum, std::int64_t{1} << 32);
  EXPECT_EQ(answers_of(engine, Integers(kDepth, 127), 1),
            (Integers{(sum + 4) / 8, -(sum + 4) / 8}));
}

TEST_F(EngineTest, TakesItsOwnBuffers) {
  NetworkMaker maker({3}, integers_format("int8"));
  maker.add(Relu{});
  const Engine engine(maker.model());
  const std::vector<std::byte> input = as_bytes(engine.input(), {-5, 7, 0});
  for (const BufferPlace place : {BufferPlace::host, BufferPlace::device}) {
    const EngineBuffer from = engine.allocate(3, place);
    const EngineBuffer to = engine.allocate(3, place);
    from.write(input);
    engine.run(from.bytes(), 1, to.bytes());
    std::vector<std::byte> answers(3);
    to.read(answers);
    EXPECT_EQ(as_integers(engine.output(), answers), (Integers{0, 7, 0}));
    answers.resize(4);
    EXPECT_THROW(to.read(answers), Error);
  }
}

TEST_F(EngineTest, RunsInManyThreadsAtOnce) {
  NetworkMaker maker = picture(6);
  maker.add(Conv2d{.channels = 64, .kernel = {3, 3}, .padding = {1, 1}});
  give_numbers(maker, {64, 3, 3, 6}, 127);
  maker.rescale(maker.last(), {300}, 18, 0, 15);
  maker.add(MaxPool{});
  maker.add(Flatten{});
  maker.add(Linear{.features = 10});
  give_numbers(maker, {10, 9 * 64}, 127);
  const Engine engine(maker.model(), {.max_batch = 2, .threads = 2});
  constexpr std::size_t kCallers = 4;
  std::vector<NaiveExamples> examples;
  std::vector<int> wrong(kCallers);
  for (std::size_t i = 0; i < kCallers; ++i)
    examples.emplace_back(maker.model(), dice_, -128, 127, kBatch);
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      for (int turn = 0; turn < 50; ++turn) {
        wrong[i] += answers_of(engine, examples[i].input, kBatch) != examples[i].values.back();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, std::vector<int>(kCallers));
}

}  // namespace
}  // namespace nibble::inline engine
