// SPDX-License-Identifier: Apache-2.0
// Convolutions with the max pool behind them in one pass.
#include <gtest/gtest.h>

#include "engine/test_engine_fixture.h"

namespace nibble::inline engine {
namespace {

class PooledTest : public EngineFixture {};

// Sums of windows that meet, outputs of others, and more rows than are pooled at a time.
TEST_F(PooledTest, PoolsProductsInOnePass) {
  struct Case {
    Shape shape;
    std::int64_t channels;
    MaxPool pool;
    std::int64_t low, high;
  };
  for (const auto& [shape, channels, pool, low, high] :
       {Case{{28, 28, 1}, 20, {{2, 2}, {2, 2}, {0, 0}}, 0, 127},
        Case{{7, 9, 5}, 64, {{2, 2}, {2, 2}, {0, 0}}, 0, 15},
        Case{{9, 8, 3}, 33, {{1, 3}, {1, 3}, {0, 0}}, -128, 127},
        Case{{90, 11, 4}, 64, {{2, 2}, {2, 2}, {1, 0}}, -128, 127},
        Case{{30, 17, 3}, 64, {{3, 3}, {3, 3}, {1, 1}}, 0, 15},
        Case{{25, 26, 5}, 7, {{1, 2}, {3, 1}, {0, 0}}, -100, 155},
        Case{{18, 19, 4}, 65, {{9, 9}, {9, 4}, {4, 4}}, 0, 255}}) {
    NetworkMaker maker(shape, integers_format("int8"));
    maker.add(Conv2d{.channels = channels, .padding = {1, 1}, .has_bias = true});
    give_numbers(maker, {channels, 3, 3, shape[2]}, 127, true);
    maker.rescale(maker.last(), dice_.many(channels, 1, 30), 11, low, high);
    maker.add(pool);
    maker.add(Conv2d{.channels = 3, .kernel = {1, 1}});
    give_numbers(maker, {3, 1, 1, channels}, 127);
    check(maker, -128, 127);
    const Engine engine(maker.model());
    ASSERT_EQ(engine.steps().size(), 2U);
    EXPECT_EQ(engine.steps()[0].kind, "conv2d 3x3 + rescale + max_pool");
    EXPECT_LT(engine.arena_bytes(),  // what is pooled lies nowhere
              static_cast<std::size_t>(shape[0] * shape[1] * (channels + shape[2])));
  }
}

}  // namespace
}  // namespace nibble::inline engine
