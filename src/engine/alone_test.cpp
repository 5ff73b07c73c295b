// SPDX-License-Identifier: Apache-2.0
// What stands alone and treats all numbers alike, in pictures with and without gaps between pixels.
#include <gtest/gtest.h>

#include "engine/test_engine_fixture.h"

namespace nibble::inline engine {
namespace {

class AloneTest : public EngineFixture {};

// As the residual additions of quantized networks are: both operands in a common, finer unit.
TEST_F(AloneTest, AddsWhatWasRescaled) {
  for (const std::int64_t channels : {1, 3, 4, 24, 33, 64, 128, 300}) {
    NetworkMaker maker = picture(channels);
    maker.add(Conv2d{.channels = channels, .kernel = {1, 1}, .groups = channels});
    give_numbers(maker, {channels, 1, 1, 1}, 127);
    const std::size_t other = rescale_bytes(maker, channels);
    const std::size_t first = maker.rescale(0, {1'534'567'891}, 21, -2147483647, 2147483647);
    const std::size_t second = maker.rescale(other, {1'198'765'432}, 22, -2147483647, 2147483647);
    maker.add(Add{}, {first, second});
    maker.rescale(maker.last(), {1'073'741'824 + 12'345}, 41, -100, 90);
    maker.add(Relu{}, {maker.last()});
    check_picture(maker);
    const Engine engine(maker.model());
    ASSERT_EQ(engine.steps().size(), 3U);
    EXPECT_EQ(engine.steps()[1].kind, "rescale + add + rescale");
  }
}

// Operands that others read too are stored, and so are the sums.
TEST_F(AloneTest, AddsApartWhatOthersRead) {
  for (const bool reads_term : {false, true}) {
    NetworkMaker maker = picture(12);
    const std::size_t first = maker.rescale(0, {300'000}, 12, -20'000, 20'000);
    const std::size_t second = maker.rescale(0, {500'001}, 14, -20'000, 20'000);
    const std::size_t sum = maker.add(Add{}, {first, second});
    const std::size_t bytes = maker.rescale(sum, {1'000'003}, 29, -128, 127);
    maker.add(Add{}, {bytes, reads_term ? second : sum});
    check_picture(maker);
    EXPECT_EQ(Engine(maker.model()).steps().size(), 5U);
  }
}

// Rows of more numbers than are joined, and of a number of pixels that nothing divides.
TEST_F(AloneTest, RunsWideRows) {
  for (const std::int64_t width : {149, 150}) {
    NetworkMaker maker({2, width, 28}, integers_format("int8"));
    maker.rescale(0, {77'777}, 16, -127, 127);
    maker.rescale(maker.last(), dice_.many(28, 100, 4000), 12, -127, 127);
    maker.add(Add{}, {maker.last(), 0});
    check_picture(maker);
  }
}

}  // namespace
}  // namespace nibble::inline engine
