// SPDX-License-Identifier: Apache-2.0
// Convolutions whose outputs see some of the channels, or one.
#include <gtest/gtest.h>

#include "engine/test_engine_fixture.h"

namespace nibble::inline engine {
namespace {

class GroupsTest : public EngineFixture {};

TEST_F(GroupsTest, RunsChannelsByThemselves) {
  for (const std::int64_t channels : {2, 33, 130}) {
    for (const std::int64_t kernel : {1, 3, 5}) {
      for (const std::int64_t stride : {1, 2}) {
        NetworkMaker maker = picture(channels);
        maker.add(Conv2d{.channels = channels,
                         .kernel = {kernel, kernel},
                         .stride = {stride, stride},
                         .padding = {kernel / 2, kernel / 2},
                         .groups = channels});
        give_numbers(maker, {channels, kernel, kernel, 1}, 127);
        rescale_bytes(maker, channels);
        check_picture(maker);
      }
    }
  }
  NetworkMaker maker = picture(70);
  maker.add(Conv2d{.channels = 70, .padding = {1, 1}, .groups = 70});
  give_numbers(maker, {70, 3, 3, 1}, 127);
  maker.add(Add{}, {maker.last(), 0});
  maker.add(Relu{});
  rescale_bytes(maker, 70);
  check_picture(maker);
  const Engine engine(maker.model());
  ASSERT_EQ(engine.steps().size(), 1U);
  EXPECT_EQ(engine.steps()[0].kind, "depthwise conv2d 3x3 + add + rescale");
}

TEST_F(GroupsTest, RunsRowsWiderThanATile) {
  NetworkMaker maker({2, 150, 5}, integers_format("int8"));
  maker.add(Conv2d{.channels = 5,
                   .kernel = {3, 9},
                   .stride = {1, 2},
                   .padding = {1, 20},
                   .dilation = {1, 4},
                   .groups = 5});
  give_numbers(maker, {5, 3, 9, 1}, 127);
  rescale_bytes(maker, 5);
  check(maker, -128, 127);
}

// Groups that share a panel, that do not fill it, and of many channels to few.
TEST_F(GroupsTest, RunsGroupsOfChannels) {
  struct Groups {
    std::int64_t groups, in, out;
  };
  for (const auto& [groups, in, out] : {Groups{32, 4, 4},
                                        {32, 8, 8},
                                        {7, 3, 5},
                                        {6, 1, 2},
                                        {17, 2, 1},
                                        {3, 40, 1},
                                        {2, 16, 70},
                                        {10, 4, 6}}) {
    NetworkMaker maker = picture(groups * in);
    maker.add(Conv2d{.channels = groups * out, .padding = {1, 1}, .groups = groups});
    give_numbers(maker, {groups * out, 3, 3, in}, 127);
    rescale_bytes(maker, groups * out);
    check_picture(maker);
  }
}

// What is added to a grouped product cannot lie in halves of bytes, to a depthwise one it can.
TEST_F(GroupsTest, AddsHalvesOfBytesToGroups) {
  for (const std::int64_t groups : {16, 64}) {
    NetworkMaker maker = picture(3);
    maker.add(Conv2d{.channels = 64, .kernel = {1, 1}});
    give_numbers(maker, {64, 1, 1, 3}, 127);
    const std::size_t half = maker.rescale(maker.last(), dice_.many(64, 1, 60), 14, 0, 15);
    maker.add(Conv2d{.channels = 64, .kernel = {1, 1}}, {0});
    give_numbers(maker, {64, 1, 1, 3}, 127);
    rescale_bytes(maker, 64);
    maker.add(Conv2d{.channels = 64, .padding = {1, 1}, .groups = groups});
    give_numbers(maker, {64, 3, 3, 64 / groups}, 127);
    maker.add(Add{}, {maker.last(), half});
    maker.rescale(maker.last(), dice_.many(64, 1, 60), 14, 0, 15);
    maker.add(Conv2d{.channels = 5, .kernel = {1, 1}});
    give_numbers(maker, {5, 1, 1, 64}, 127);
    check_picture(maker);
  }
}

}  // namespace
}  // namespace nibble::inline engine
