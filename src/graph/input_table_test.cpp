// SPDX-License-Identifier: Apache-2.0
// Tests of what enters a network of integers.
#include "graph/input_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/integer_form.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

using ::testing::ElementsAre;

Precision precision_of(const char* format) {
  return {.format = parse_format(format)};
}

std::vector<int> rounded(const InputRounder& round, std::initializer_list<double> values) {
  std::vector<int> result;
  for (const double value : values) result.push_back(round(value));
  return result;
}

TEST(InputRounder, TiesGoToEvenOrAwayAsTheFormatSays) {
  EXPECT_THAT(rounded(InputRounder(precision_of("int8(scale=0.5)")),
                      {0.25, 0.75, 1.25, -0.25, -0.75, 0.7499, -63.75}),
              ElementsAre(0, 2, 2, 0, -2, 1, -128));
  EXPECT_THAT(rounded(InputRounder(int8_of(-1)), {0.25, 0.75, 1.25, -0.25, -0.75, 0.7499, -63.75}),
              ElementsAre(1, 2, 3, -1, -2, 1, -127));
}

// By the definition: the nearest integer, of two as near the even one or that farther from zero.
std::int32_t nearest(double scaled, bool is_away) {
  const double below = std::floor(scaled);
  const double rest = scaled - below;  // exact
  const bool is_odd = std::fmod(below, 2.0) != 0;
  const bool is_up = rest > 0.5 || (rest == 0.5 && (is_away ? scaled > 0 : is_odd));
  return static_cast<std::int32_t>(is_up ? below + 1 : below);
}

TEST(InputRounder, RoundsEveryQuarterAndItsNeighbours) {
  std::vector<float> numbers;
  for (int quarter = -4 * 140; quarter <= 4 * 140; ++quarter) {
    const float number = static_cast<float>(quarter) / 4;
    for (const float each : {std::nextafter(number, -1e9F), number, std::nextafter(number, 1e9F)})
      numbers.push_back(each);
  }
  for (const bool is_away : {false, true}) {
    const InputRounder round(is_away ? int8_of(0) : precision_of("int8"));
    std::vector<std::int32_t> all(numbers.size());
    round.for_each(numbers, [&](std::size_t i, std::int32_t integer) { all[i] = integer; });
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double number = numbers[i];
      const double held = std::clamp(number, is_away ? -127.0 : -128.0, 127.0);
      EXPECT_EQ(all[i], nearest(held, is_away)) << number;
      EXPECT_EQ(all[i], round(number)) << number;
    }
  }
}

TEST(InputRounder, KeepsToTheEndsOfTheFormatLessItsZero) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(rounded(InputRounder(precision_of("int8")), {-1e9, 1e9, -kInf, kInf, kNan}),
              ElementsAre(-128, 127, -128, 127, 0));
  EXPECT_THAT(rounded(InputRounder(precision_of("uint8(scale=0.5,zero=100)")), {-1e9, 1e9, 1}),
              ElementsAre(-100, 155, 2));
  EXPECT_THAT(rounded(InputRounder(precision_of("uint4")), {-1, 99}), ElementsAre(0, 15));
  EXPECT_THROW(InputRounder(precision_of("fp32")), Error);
  EXPECT_THROW(InputRounder(precision_of("mxint8")), Error);
}

// preprocess_data.py of the INT4 submission: clamp(round(v·127 / 2.64), ±127) of float32 v.
TEST(InputTable, OfTheInt4ResNetIsTheHarnesss) {
  const Input input{.shape = {224, 224, 3},
                    .mean = {0.485F, 0.456F, 0.406F},
                    .deviation = {0.229F, 0.224F, 0.225F}};
  Precision precision{
      .format = {.element = GridElement{.bits = 8, .is_symmetric = true}, .scaling = {}}};
  precision.format.scaling = {.kind = ScaleKind::given, .scale = static_cast<float>(2.64 / 127)};
  const std::vector<std::int32_t> table = input_table(input, precision, 3);
  ASSERT_EQ(table.size(), 768U);
  for (std::size_t c = 0; c < 3; ++c) {
    for (int byte = 0; byte < 256; ++byte) {
      const float real = static_cast<float>(byte) / 255.0F;
      const float v = (real - input.mean[c]) / input.deviation[c];
      const float q = std::clamp(std::nearbyint(v * 127.0F / 2.64F), -127.0F, 127.0F);
      EXPECT_EQ(table[c * 256 + static_cast<std::size_t>(byte)], static_cast<int>(q))
          << c << ' ' << byte;
    }
  }
  EXPECT_EQ(table[0], -102);
  EXPECT_EQ(table[767], 127);
}

TEST(InputTable, WithoutMeanIsTheByteItself) {
  const std::vector<std::int32_t> table =
      input_table({.shape = {2, 2, 1}, .mean = {}, .deviation = {}},
                  precision_of("uint8(scale=0.003921569)"), 1);
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(table[static_cast<std::size_t>(byte)], byte);
}

}  // namespace
}  // namespace nibble::inline graph
