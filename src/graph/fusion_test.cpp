// SPDX-License-Identifier: Apache-2.0
// Which nodes run as one, for kernels of bytes and for code.
#include "graph/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "graph/test_network_maker.h"

namespace nibble::inline graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A network with its groups.
struct Fused {
  Fused(const NetworkMaker& maker, FusionStyle style)
      : model(maker.model()), bounds(prove_bounds(model)), fusion(model, bounds, style) {}

  const FusedGroup* group(std::size_t last) const { return fusion.group_of(last); }
  // Nodes whose values are stored nowhere.
  std::vector<std::size_t> absorbed() const {
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < model.network.nodes.size(); ++i) {
      if (fusion.is_absorbed(i)) nodes.push_back(i);
    }
    return nodes;
  }

  Model model;
  std::vector<NodeBounds> bounds;
  Fusion fusion;
};

NetworkMaker picture(std::int64_t rows = 4) {
  return {Shape{rows, rows, 3}, integers_format("int8")};
}

std::size_t add_conv(NetworkMaker& maker, std::size_t input, Conv2d conv = {}) {
  conv.channels = 3;
  const std::size_t node = maker.add(conv, {input});
  const Shape weight{3, conv.kernel.y, conv.kernel.x, 3 / conv.groups};
  Dice dice(1);
  maker.with(tensor_of<std::int8_t>(weight, dice.many(weight.elements(), -9, 9)));
  return node;
}
std::size_t add_bias(NetworkMaker& maker, std::size_t input) {
  const std::size_t node = maker.add(Bias{}, {input});
  maker.with(tensor_of<std::int32_t>({3}, {1, -2, 3}));
  return node;
}

TEST(Fusion, AProductTakesWhatFollowsIt) {
  NetworkMaker maker = picture();
  const std::size_t conv = add_conv(maker, 0);
  const std::size_t bias = add_bias(maker, conv);
  const std::size_t relu = maker.add(Relu{}, {bias});
  const std::size_t rescale = maker.rescale(relu, {5}, 4, -100, 90);
  for (const FusionStyle style : {FusionStyle::for_bytes, FusionStyle::for_code}) {
    const Fused fused(maker, style);
    ASSERT_NE(fused.group(rescale), nullptr);
    const FusedGroup& group = *fused.group(rescale);
    EXPECT_EQ(group.first, conv);
    EXPECT_THAT(group.biases, ElementsAre(bias));
    EXPECT_TRUE(group.has_relu);
    EXPECT_EQ(group.rescale, rescale);
    EXPECT_EQ(group.low, 0);  // the relu's
    EXPECT_EQ(group.high, 90);
    EXPECT_FALSE(group.is_wide);
    EXPECT_THAT(fused.absorbed(), ElementsAre(conv, bias, relu));
  }
  const Fused apart(maker, FusionStyle::apart);
  EXPECT_THAT(apart.absorbed(), IsEmpty());
  EXPECT_EQ(apart.group(conv)->last, conv);
  EXPECT_EQ(apart.group(rescale), nullptr);
}

TEST(Fusion, AnAddTakesTheRescaleThatItAloneReads) {
  NetworkMaker maker = picture();
  const std::size_t conv = add_conv(maker, 0, {.kernel = {1, 1}});
  const std::size_t other = maker.rescale(0, {7}, 1, -kMaxInteger, kMaxInteger);
  const std::size_t add = maker.add(Add{}, {other, conv});
  const std::size_t bias = add_bias(maker, add);
  const std::size_t rescale = maker.rescale(bias, {5}, 6, -127, 127);

  const Fused code(maker, FusionStyle::for_code);
  ASSERT_NE(code.group(rescale), nullptr);
  EXPECT_EQ(code.group(rescale)->addend.node, 0U);
  EXPECT_EQ(code.group(rescale)->addend.rescale, other);
  EXPECT_THAT(code.group(rescale)->biases, ElementsAre(bias));
  EXPECT_THAT(code.absorbed(), ElementsAre(conv, other, add, bias));

  const Fused bytes(maker, FusionStyle::for_bytes);  // a bias behind the addend stays
  ASSERT_NE(bytes.group(add), nullptr);
  EXPECT_EQ(bytes.group(add)->addend.rescale, other);
  EXPECT_THAT(bytes.absorbed(), ElementsAre(conv, other));
}

TEST(Fusion, AClampedOperandIsStored) {
  NetworkMaker maker = picture();
  const std::size_t conv = add_conv(maker, 0, {.kernel = {1, 1}});
  const std::size_t other = maker.rescale(0, {7}, 1, -10, 10);
  const std::size_t add = maker.add(Add{}, {conv, other});
  for (const FusionStyle style : {FusionStyle::for_bytes, FusionStyle::for_code}) {
    const Fused fused(maker, style);
    EXPECT_EQ(fused.group(add)->addend.node, other);
    EXPECT_EQ(fused.group(add)->addend.rescale, kNoNode);
  }
}

TEST(Fusion, CodeTakesZerosFactorsAndPoints) {
  NetworkMaker maker = picture(6);
  const std::size_t relu = maker.add(Relu{}, {0});
  const std::size_t pad = maker.add(Pad{{1, 0, 0}, {0, 1, 0}}, {relu});
  const std::size_t conv = add_conv(maker, pad);
  const std::size_t lift = maker.rescale(conv, {4}, 0, -kMaxInteger, kMaxInteger);
  const std::size_t bias = add_bias(maker, lift);
  const std::size_t rescale = maker.rescale(bias, {5}, 6, -127, 127);

  const Fused code(maker, FusionStyle::for_code);
  ASSERT_NE(code.group(rescale), nullptr);
  EXPECT_EQ(code.group(rescale)->pad, pad);
  EXPECT_EQ(code.group(rescale)->lift, lift);
  EXPECT_EQ(code.group(relu)->first, relu);
  EXPECT_THAT(code.absorbed(), ElementsAre(pad, conv, lift, bias));

  const Fused bytes(maker, FusionStyle::for_bytes);
  EXPECT_EQ(bytes.group(lift)->first, conv);  // a rescale like any other
  EXPECT_THAT(bytes.absorbed(), ElementsAre(conv));
}

TEST(Fusion, OneAddOfTwoIsAGroupOfCodeAndOneOfManyIsNot) {
  NetworkMaker maker = picture();
  const std::size_t a = maker.rescale(0, {3}, 0, -kMaxInteger, kMaxInteger);
  const std::size_t b = maker.rescale(0, {5}, 0, -kMaxInteger, kMaxInteger);
  const std::size_t two = maker.add(Add{}, {a, b});
  const std::size_t twice = maker.add(Add{}, {two, two});
  const std::size_t many = maker.add(Add{}, {twice, two, 0});
  const Fused code(maker, FusionStyle::for_code);
  EXPECT_EQ(code.group(two)->operand.rescale, a);
  EXPECT_EQ(code.group(two)->addend.rescale, b);
  EXPECT_EQ(code.group(twice)->operand.node, two);
  EXPECT_EQ(code.group(twice)->addend.node, two);
  EXPECT_EQ(code.group(many), nullptr);
  EXPECT_THAT(code.absorbed(), ElementsAre(a, b));
  EXPECT_THAT(Fused(maker, FusionStyle::for_bytes).absorbed(), IsEmpty());
}

// Code may round what a pool left; kernels pool last.
TEST(Fusion, PoolsJoinWhereTheirWindowsDoNotOverlap) {
  NetworkMaker maker = picture(8);
  const std::size_t conv = add_conv(maker, 0, {.padding = {1, 1}});
  const std::size_t rescale = maker.rescale(conv, {5}, 6, -127, 127);
  const std::size_t pool = maker.add(MaxPool{}, {rescale});
  const std::size_t relu = maker.add(Relu{}, {pool});
  const Fused code(maker, FusionStyle::for_code);
  EXPECT_EQ(code.group(relu)->pool, pool);
  const Fused bytes(maker, FusionStyle::for_bytes);
  ASSERT_NE(bytes.group(pool), nullptr);
  EXPECT_EQ(bytes.group(pool)->pooled, rescale);
  EXPECT_TRUE(bytes.group(pool)->pools_sums);

  NetworkMaker overlapping = picture(8);
  overlapping.rescale(add_conv(overlapping, 0, {.padding = {1, 1}}), {5}, 6, -127, 127);
  overlapping.add(MaxPool{{3, 3}, {2, 2}, {1, 1}});
  for (const FusionStyle style : {FusionStyle::for_bytes, FusionStyle::for_code})
    EXPECT_EQ(Fused(overlapping, style).group(overlapping.last()), nullptr);
}

TEST(Fusion, ASumPoolTakesItsRescaleOverAFlattenOfOnePixel) {
  for (const bool has_flatten : {false, true}) {
    NetworkMaker maker = picture();
    const std::size_t sums = maker.add(SumPool{{4, 4}, {1, 1}, {0, 0}}, {0});
    if (has_flatten) maker.add(Flatten{});
    const std::size_t rescale = maker.rescale(maker.last(), {5}, 6, -127, 127);
    for (const FusionStyle style : {FusionStyle::for_bytes, FusionStyle::for_code}) {
      const Fused fused(maker, style);
      ASSERT_NE(fused.group(rescale), nullptr) << has_flatten;
      EXPECT_EQ(fused.group(rescale)->first, sums);
      EXPECT_EQ(fused.absorbed().size(), has_flatten ? 2U : 1U);
    }
  }
  NetworkMaker plain = picture();
  plain.add(SumPool{{4, 4}, {1, 1}, {0, 0}});
  plain.add(Flatten{});  // nothing to rescale: it stays
  EXPECT_THAT(Fused(plain, FusionStyle::for_bytes).absorbed(), IsEmpty());
}

TEST(Fusion, AValueBeyond32BitsMustBeRescaledAtOnce) {
  NetworkMaker maker({Shape{40'000}, integers_format("int16")});
  maker.add(Linear{.features = 1});
  maker.with(tensor_of<std::int8_t>({1, 40'000}, Integers(40'000, 127)));
  for (const FusionStyle style : {FusionStyle::for_bytes, FusionStyle::for_code}) {
    EXPECT_THAT(error_of([&] { Fused(maker, style); }),
                HasSubstr("node 'n1' (linear): value: got beyond 32 bits"));
  }
  maker.rescale(1, {1}, 20, -127, 127);
  EXPECT_TRUE(Fused(maker, FusionStyle::for_bytes).group(2)->has_wide_sums);
  EXPECT_TRUE(Fused(maker, FusionStyle::for_code).group(2)->is_wide);
}

}  // namespace
}  // namespace nibble::inline graph
