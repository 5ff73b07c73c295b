// SPDX-License-Identifier: Apache-2.0
#include "nibble/graph/integer_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/test_support.h"
#include "graph/defined_network.h"
#include "graph/test_network_maker.h"

namespace nibble::inline graph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void take(Interval& hull, std::int64_t value) {
  hull = {std::min(hull.low, value), std::max(hull.high, value)};
}

// What every node gives over all inputs of low … high.
std::vector<Interval> reached(const Model& model, std::int64_t low, std::int64_t high) {
  const DefinedNetwork naive(model);
  Integers input(static_cast<std::size_t>(naive.shapes()[0].elements()), low);
  std::vector<Interval> hulls(model.network.nodes.size(), {INT64_MAX, INT64_MIN});
  for (;;) {
    const std::vector<Integers> values = naive.values(input);
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (const std::int64_t value : values[i]) take(hulls[i], value);
    }
    std::size_t k = 0;  // count on
    while (k < input.size() && input[k] == high) input[k++] = low;
    if (k == input.size()) return hulls;
    ++input[k];
  }
}

std::vector<Interval> proven(const Model& model) {
  std::vector<Interval> values;
  for (const NodeBounds& bounds : prove_bounds(model)) values.push_back(bounds.value);
  return values;
}

void expect_exact(const NetworkMaker& maker, std::int64_t low, std::int64_t high) {
  const std::vector<Interval> wanted = reached(maker.model(), low, high);
  const std::vector<Interval> got = proven(maker.model());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(got[i] == wanted[i])
        << maker.network().nodes[i].name << ": got " << got[i].low << " to " << got[i].high
        << ", expected " << wanted[i].low << " to " << wanted[i].high;
  }
}

TEST(IntegerBounds, OfALinearLayerAndItsRescaleAreReached) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Dice dice(seed);
    NetworkMaker maker({5}, integers_format("int2"));
    maker.add(Linear{.features = 3, .has_bias = true});
    maker.with(tensor_of<std::int8_t>({3, 5}, dice.many(15, -128, 127)));
    maker.with(tensor_of<std::int32_t>({3}, dice.many(3, -300, 300)));
    maker.rescale(1, dice.many(3, 0, 50), dice.from(0, 9), -100, 90);
    maker.add(Relu{});
    expect_exact(maker, -2, 1);
  }
}

TEST(IntegerBounds, OfAConvolutionAreReached) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Dice dice(seed);
    NetworkMaker maker({2, 2, 2}, integers_format("int2"));
    maker.add(Conv2d{.channels = 4,
                     .kernel = {2, 1},
                     .stride = {1, 1},
                     .padding = {1, 0},
                     .groups = 2,
                     .has_bias = true});
    maker.with(tensor_of<std::int8_t>({4, 2, 1, 1}, dice.many(8, -128, 127)));
    maker.with(tensor_of<std::int32_t>({4}, dice.many(4, -300, 300)));
    expect_exact(maker, -2, 1);
  }
}

TEST(IntegerBounds, OfPoolsAreReached) {
  NetworkMaker maker({2, 3, 1}, integers_format("int2"));
  maker.rescale(0, {5}, 1, -4, 100);
  const std::size_t largest = maker.add(MaxPool{{2, 2}, {1, 1}, {1, 0}});
  const std::size_t sums = maker.add(SumPool{{2, 2}, {1, 1}, {0, 1}}, {1});
  const std::size_t flat = maker.add(Flatten{}, {largest});
  maker.add(Concat{}, {flat, maker.add(Flatten{}, {sums})});
  expect_exact(maker, -2, 1);
}

TEST(IntegerBounds, OfMeansWhoseWindowsDifferAreReached) {
  NetworkMaker maker({2, 3, 1}, integers_format("int2"));
  maker.add(SumPool{{2, 3}, {1, 1}, {1, 2}, 5});
  expect_exact(maker, -2, 1);
  NetworkMaker above({2, 3, 1}, integers_format("uint2", -1));  // 1 to 4
  above.add(SumPool{{2, 3}, {1, 1}, {1, 2}, 5});
  expect_exact(above, 1, 4);
}

// The format has no 0: a border brings it in, and may be the largest.
TEST(IntegerBounds, OfBordersTakeInZero) {
  NetworkMaker maker({1, 1, 1}, integers_format("uint2", 5));  // -5 to -2
  maker.add(SumPool{{2, 2}, {1, 1}, {1, 1}});
  EXPECT_TRUE(proven(maker.model())[0] == (Interval{-5, -2}));
  EXPECT_TRUE(proven(maker.model())[1].is_within(-20, 0));
  EXPECT_GE(proven(maker.model())[1].high, -2);
  NetworkMaker padded({2}, integers_format("uint2", 5));
  padded.add(Pad{.before = {1}, .after = {0}});
  expect_exact(padded, -5, -2);
}

// A flattened picture has a bias and a multiplier for each of its numbers.
TEST(IntegerBounds, GoOnBehindAFlatten) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Dice dice(seed);
    NetworkMaker maker({2, 1, 2}, integers_format("int2"));
    const std::size_t scaled = maker.rescale(0, {3, 50}, 0, -1000, 1000);
    const std::size_t flat = maker.add(Flatten{}, {scaled});
    maker.add(Bias{});
    maker.with(tensor_of<std::int32_t>({4}, dice.many(4, -300, 300)));
    const std::size_t more = maker.rescale(maker.last(), dice.many(4, 0, 9), 1, -1000, 1000);
    const std::size_t both = maker.add(Concat{}, {flat, more});
    maker.add(Slice{.begin = {4}, .end = {0}, .step = {1}}, {both});
    maker.add(Add{}, {flat, maker.last()});
    const std::vector<Interval> real = reached(maker.model(), -2, 1);
    const std::vector<Interval> bounds = proven(maker.model());
    for (std::size_t i = 0; i < real.size(); ++i) {
      EXPECT_TRUE(real[i].is_within(bounds[i].low, bounds[i].high)) << "node " << i;
      if (i <= both) {
        EXPECT_TRUE(real[i] == bounds[i]) << "node " << i;
      }
    }
  }
}

TEST(IntegerBounds, OfALinearLayerBehindAConcatKnowWhichNumberIsWhich) {
  NetworkMaker maker({2, 1, 1}, integers_format("int2"));
  const std::size_t flat = maker.add(Flatten{}, {0});
  const std::size_t large = maker.rescale(flat, {100}, 0, -1000, 1000);
  maker.add(Concat{}, {flat, large});
  maker.add(Linear{.features = 1});
  maker.with(tensor_of<std::int8_t>({1, 4}, {0, 0, 1, -1}));
  EXPECT_TRUE(proven(maker.model()).back() == (Interval{-300, 300}));
}

TEST(IntegerBounds, OfTablesAndClassesAreReached) {
  Dice dice(1);
  NetworkMaker maker({3}, integers_format("int8"));
  maker.add(Table{.first = -128});
  const Integers table = dice.many(kTableEntries, -70, 60);
  maker.with(tensor_of<std::int8_t>({kTableEntries}, table));
  maker.add(ArgMax{});
  const auto [least, most] = std::ranges::minmax(table);
  EXPECT_TRUE(proven(maker.model())[1] == (Interval{least, most}));
  EXPECT_TRUE(proven(maker.model())[2] == (Interval{0, 2}));
}

// Every sum on the way, in whatever order, with or without the bias.
TEST(IntegerBounds, OfPartsOfASumAreReached) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Dice dice(seed);
    const Integers weights = dice.many(4, -9, 9);
    const std::int64_t bias = dice.from(-20, 20);
    NetworkMaker maker({4}, integers_format("int2", static_cast<int>(dice.from(-4, 4))));
    maker.add(Linear{.features = 1, .has_bias = true});
    maker.with(tensor_of<std::int8_t>({1, 4}, weights));
    maker.with(tensor_of<std::int32_t>({1}, {bias}));
    const std::vector<NodeBounds> bounds = prove_bounds(maker.model());
    const Interval x = bounds[0].value;
    Interval hull;
    for (int part = 0; part < 16; ++part) {
      for (int choice = 0; choice < 16; ++choice) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          if (part >> k & 1) sum += weights[k] * (choice >> k & 1 ? x.high : x.low);
        }
        take(hull, sum);
        take(hull, sum + bias);
      }
    }
    EXPECT_TRUE(bounds[1].partial == hull) << seed;
  }
}

TEST(IntegerBounds, OfTheProductOfARescaleAreReached) {
  NetworkMaker maker({2}, integers_format("int8"));
  maker.rescale(0, {7, 1000}, 4, -10, 10);
  const NodeBounds bounds = prove_bounds(maker.model())[1];
  EXPECT_TRUE(bounds.product == (Interval{-128000, 127000}));
  EXPECT_TRUE(bounds.value == (Interval{-10, 10}));
}

TEST(IntegerBounds, RefuseWhat62BitsDoNotHold) {
  NetworkMaker product({1}, integers_format("int8"));
  product.rescale(0, {kMaxInteger}, 0, -kMaxInteger, kMaxInteger);
  product.rescale(1, {kMaxInteger}, 31, -kMaxInteger, kMaxInteger);  // just below 2^62
  EXPECT_EQ(error_of([&] { (void)prove_bounds(product.model()); }), "no error");
  product.add(Add{}, {2, 2});
  product.rescale(3, {kMaxInteger}, 31, -kMaxInteger, kMaxInteger);
  EXPECT_THAT(error_of([&] { (void)prove_bounds(product.model()); }),
              AllOf(HasSubstr("'n4'"), HasSubstr("beyond 62 bits")));

  NetworkMaker sums({256}, integers_format("int16"));  // 15 bits more with every layer
  for (int layer = 0; layer < 6; ++layer) {
    sums.add(Linear{.features = 256});
    sums.with(tensor_of<std::int8_t>({256, 256}, Integers(65536, 127)));
  }
  EXPECT_THAT(error_of([&] { (void)prove_bounds(sums.model()); }),
              AllOf(HasSubstr("'n4'"), HasSubstr("beyond 62 bits")));
}

TEST(IntegerBounds, RefuseMultipliersThatNoRescaleHas) {
  const auto error_with = [](std::int64_t multiplier) {
    NetworkMaker maker({1}, integers_format("int8"));
    maker.add(Rescale{});
    maker.with(tensor_of<std::int64_t>({1}, {multiplier}));
    return error_of([&] { (void)prove_bounds(maker.model()); });
  };
  EXPECT_EQ(error_with(0), "no error");
  EXPECT_EQ(error_with(kMaxInteger), "no error");
  EXPECT_EQ(error_with(-1),
            "[network] node 'n1' (rescale): multiplier: got -1, expected 0 to 2147483647");
  EXPECT_THAT(error_with(kMaxInteger + 1), HasSubstr("got 2147483648"));
}

TEST(IntegerBounds, RefuseATableThatIsTooShort) {
  NetworkMaker maker({1}, integers_format("int8"));
  maker.add(Table{.first = -127});
  maker.with(tensor_of<std::int8_t>({kTableEntries}, Integers(256)));
  EXPECT_THAT(error_of([&] { (void)prove_bounds(maker.model()); }),
              HasSubstr("got -128 to 127, expected -127 to 128"));
}

TEST(IntegerBounds, RefuseASoftmaxTableWithoutAFirstEntry) {
  NetworkMaker maker({2}, integers_format("int8"));
  maker.add(SoftmaxTable{});
  maker.with(tensor_of<std::int32_t>({kTableEntries}, Integers(256)));
  EXPECT_THAT(error_of([&] { (void)prove_bounds(maker.model()); }), HasSubstr("'n1'"));
}

TEST(IntegerBounds, KnowTheBitsOfAnInterval) {
  EXPECT_EQ((Interval{0, 0}).signed_bits(), 1);
  EXPECT_EQ((Interval{-1, 0}).signed_bits(), 1);
  EXPECT_EQ((Interval{0, 1}).signed_bits(), 2);
  EXPECT_EQ((Interval{-128, 127}).signed_bits(), 8);
  EXPECT_EQ((Interval{-129, 0}).signed_bits(), 9);
  EXPECT_EQ((Interval{0, 255}).signed_bits(), 9);
}

}  // namespace
}  // namespace nibble::inline graph
