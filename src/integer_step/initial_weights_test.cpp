// SPDX-License-Identifier: Apache-2.0
// How weights begin.
#include "integer_step/trained_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "integer_step/tape.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline integer_step {
namespace {

using ::testing::ElementsAre;

TEST(Initial, WeightsAreUniformWithin127) {
  const std::unique_ptr<IntegerBackend> backend = make_backend("cpu");
  const LayerPlace place{backend.get(), backend.get(), backend.get(), backend.get()};
  const TrainedTensor tensor({.name = "a.weight", .shape = {255 * 200}}, place);
  const WeightsState state = initial_state(tensor, 0, {}, {1, kIntegerInitialStreams, 0});
  std::map<int, int> counts;
  for (const int each : state.mantissas.as<std::int8_t>()) ++counts[each];
  EXPECT_EQ(counts.size(), 255U);
  EXPECT_EQ(counts.begin()->first, -127);
  EXPECT_EQ(counts.rbegin()->first, 127);
  double square = 0;  // χ² of 254 degrees: 254 ± 5·22.5
  for (const auto& [value, count] : counts) square += (count - 200.0) * (count - 200.0) / 200.0;
  EXPECT_NEAR(square, 254, 113);
}

// Bound √(6 / fans); a fan of a convolution counts its taps.
TEST(Initial, ExponentsAreThoseOfXavier) {
  const auto conv = [](std::int64_t in, std::int64_t out, std::int64_t kernel) {
    return xavier_exponent(in * kernel * kernel, out * kernel * kernel);
  };
  EXPECT_EQ(conv(3, 128, 3), -10);
  EXPECT_EQ(conv(128, 128, 3), -11);
  EXPECT_EQ(conv(128, 256, 3), -11);
  EXPECT_EQ(conv(256, 256, 3), -11);
  EXPECT_EQ(conv(256, 512, 3), -12);
  EXPECT_EQ(conv(512, 512, 3), -12);
  EXPECT_EQ(xavier_exponent(8192, 10), -12);
  EXPECT_EQ(conv(1, 20, 5), -10);
  EXPECT_EQ(conv(20, 50, 5), -11);
  EXPECT_EQ(xavier_exponent(800, 500), -10);
  EXPECT_EQ(xavier_exponent(500, 10), -10);
  EXPECT_EQ(xavier_exponent(3, 3), -7);    // exactly 1
  EXPECT_EQ(xavier_exponent(12, 12), -8);  // exactly 1/2
  EXPECT_EQ(xavier_exponent(1, 1), -6);    // 1.73
}

TEST(Initial, LayersTakeTheirExponentsFromTheirShapes) {
  const Network vgg = load_network("vgg-small-7");
  const IntegerTape tape(vgg, {}, Placement(make_backend("cpu")));
  std::vector<int> exponents;
  for (const TrainedTensor* each : tape.parameters()) exponents.push_back(each->exponent());
  EXPECT_THAT(exponents, ElementsAre(-10, -11, -11, -11, -12, -12, -12));
  const Network lenet = load_network("lenet");
  const IntegerTape other(lenet, {}, Placement(make_backend("cpu")));
  exponents.clear();
  for (const TrainedTensor* each : other.parameters()) exponents.push_back(each->exponent());
  EXPECT_THAT(exponents, ElementsAre(-10, -11, -10, -10));
}

}  // namespace
}  // namespace nibble::inline integer_step
