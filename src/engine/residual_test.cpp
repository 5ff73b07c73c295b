// SPDX-License-Identifier: Apache-2.0
// Sums of products and of values that lie in the arena: results lie in the place of what is added,
// but not while others need that.
#include <gtest/gtest.h>

#include "engine/test_engine_fixture.h"

namespace nibble::inline engine {
namespace {

constexpr std::int64_t kPixels = 6 * 7;

struct Kept {
  std::int64_t channels, low, high;
  std::int64_t bytes() const { return kPixels * channels / (high == 15 ? 2 : 1); }
};

class ResidualTest : public EngineFixture {
 protected:
  // A convolution of `input`, plus `addend` if it is a value's, in few bits.
  std::size_t product(NetworkMaker& maker, const Kept& kept, std::size_t input, std::int64_t depth,
                      std::size_t addend = 0) {
    maker.add(Conv2d{.channels = kept.channels, .padding = {1, 1}}, {input});
    give_numbers(maker, {kept.channels, 3, 3, depth}, 7);
    if (addend != 0) {
      const std::size_t sum = maker.last();
      maker.rescale(addend, dice_.many(kept.channels, 0, 90000), 4, -kMaxInteger, kMaxInteger);
      maker.add(Add{}, {sum, maker.last()});
    }
    return maker.rescale(maker.last(), dice_.many(kept.channels, 1, 60), 14, kept.low, kept.high);
  }
  std::size_t arena_of(const NetworkMaker& maker) {
    return Engine(maker.model(), {.packs_halves = true}).arena_bytes();
  }

  static constexpr Kept kCases[] = {{64, 0, 15}, {64, -128, 127}, {48, 0, 200}, {17, -128, 127}};
};

// Two pictures at a time are enough for any number of blocks.
TEST_F(ResidualTest, ReplacesWhatIsAdded) {
  for (const Kept& kept : kCases) {
    NetworkMaker maker = picture(3);
    std::size_t value = product(maker, kept, 0, 3);
    for (int block = 0; block < 2; ++block) {
      const std::size_t within = product(maker, kept, value, kept.channels);
      value = product(maker, kept, within, kept.channels, value);
    }
    maker.add(Conv2d{.channels = 3, .kernel = {1, 1}});
    give_numbers(maker, {3, 1, 1, kept.channels}, 7);
    check_picture(maker);
    if (kept.channels == 17) continue;  // kernels read further than that
    EXPECT_LT(arena_of(maker), static_cast<std::size_t>(3 * kept.bytes()));
  }
}

TEST_F(ResidualTest, KeepsWhatIsReadLater) {
  for (const Kept& kept : kCases) {
    NetworkMaker maker = picture(3);
    const std::size_t value = product(maker, kept, 0, 3);
    const std::size_t first = product(maker, kept, value, kept.channels);
    const std::size_t second = product(maker, kept, first, kept.channels, value);
    product(maker, kept, second, kept.channels, value);
    check_picture(maker);
    EXPECT_GE(arena_of(maker), static_cast<std::size_t>(3 * kept.bytes()));
  }
}

TEST_F(ResidualTest, KeepsWhatTheProductReads) {
  for (const Kept& kept : kCases) {
    NetworkMaker maker = picture(3);
    const std::size_t value = product(maker, kept, 0, 3);
    product(maker, kept, value, kept.channels, value);
    check_picture(maker);
  }
}

}  // namespace
}  // namespace nibble::inline engine
