// SPDX-License-Identifier: Apache-2.0
// Tests of Philox against the known answers of Random123 and of the layout of its draws.
#include "nibble/core/philox.h"

#include <gtest/gtest.h>

namespace nibble::inline core {
namespace {

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32_10({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                          {0xa4093822u, 0x299f31d0u}),
            (PhiloxBlock{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, DrawsReadTheLanesOfTheirCounter) {
  const RandomKey key{.seed = 0x299f31d0a4093822u, .stream = 7, .step = 9};
  for (const std::uint64_t group : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 40}) {
    const PhiloxBlock block =
        philox4x32_10({static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32),
                       key.step, key.stream},
                      {0xa4093822u, 0x299f31d0u});
    for (std::uint64_t lane = 0; lane < 4; ++lane) {
      EXPECT_EQ(draw32(key, 4 * group + lane), block[lane]);
    }
    for (std::uint64_t lane = 0; lane < 8; ++lane) {
      const std::uint32_t word = block[lane / 2];
      EXPECT_EQ(draw16(key, 8 * group + lane), lane % 2 == 0 ? word & 0xffffu : word >> 16);
    }
  }
}

TEST(Philox, EveryPartOfTheKeyChangesTheDraw) {
  const RandomKey key{.seed = 1, .stream = 2, .step = 3};
  const std::uint32_t draw = draw32(key, 0);
  EXPECT_NE(draw, draw32({.seed = 2, .stream = 2, .step = 3}, 0));
  EXPECT_NE(draw, draw32({.seed = 1 + (std::uint64_t{1} << 32), .stream = 2, .step = 3}, 0));
  EXPECT_NE(draw, draw32({.seed = 1, .stream = 3, .step = 3}, 0));
  EXPECT_NE(draw, draw32({.seed = 1, .stream = 2, .step = 4}, 0));
  EXPECT_NE(draw, draw32(key, 4));
}

}  // namespace
}  // namespace nibble::inline core
