// SPDX-License-Identifier: Apache-2.0
#include "quantization/quantization_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nibble/graph/network_text.h"

namespace nibble::inline quantization {
namespace {

using testing::ElementsAre;

std::vector<std::string> points_of(const char* layers) {
  const Network network =
      parse_network(std::string("name = \"n\"\ninput = [8, 8, 4]\nlayers = [") + layers + "]", "n");
  const std::vector<bool> points = quantization_points(network);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i]) names.push_back(network.nodes[i].name);
  }
  return names;
}

TEST(QuantizationPoints, ASumIsRoundedAfterItsReluAndBeforeItsPool) {
  EXPECT_THAT(points_of(R"(
      { op = "conv2d", name = "c", channels = 4 }, { op = "relu", name = "r" },
      { op = "max_pool", name = "p" }, { op = "flatten", name = "f" },
      { op = "linear", name = "l", features = 3 }, { op = "softmax_cross_entropy" })"),
              ElementsAre("input", "r", "l"));
}

TEST(QuantizationPoints, TheLastSumGoesIntoAnAddAsItIs) {
  EXPECT_THAT(points_of(R"(
      { op = "conv2d", name = "a", channels = 4, padding = 1 },
      { op = "conv2d", name = "b", channels = 4, kernel = 1, from = "input" },
      { op = "add", name = "s", from = ["a", "b"] }, { op = "relu", name = "r" },
      { op = "global_average_pool", name = "g" })"),
              ElementsAre("input", "a", "r", "g"));
}

TEST(QuantizationPoints, AnAddOfWhatOthersReadTakesRoundedValues) {
  EXPECT_THAT(points_of(R"(
      { op = "conv2d", name = "a", channels = 4, padding = 1 }, { op = "relu", name = "r" },
      { op = "conv2d", name = "b", channels = 4, padding = 1, from = "a" },
      { op = "add", name = "s", from = ["r", "b"] })"),
              ElementsAre("input", "a", "s"));
}

TEST(QuantizationPoints, AConcatOfSumsIsRoundedOnce) {
  EXPECT_THAT(points_of(R"(
      { op = "conv2d", name = "a", channels = 4, padding = 1 }, { op = "relu", name = "r" },
      { op = "conv2d", name = "b", channels = 2, kernel = 1, from = "input" },
      { op = "concat", name = "s", from = ["r", "b"] })"),
              ElementsAre("input", "s"));
}

}  // namespace
}  // namespace nibble::inline quantization
