// SPDX-License-Identifier: Apache-2.0
// Scales of groups, against the definition applied to each group's elements one by one.
#include "kernels/quantize/group_scales.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/isa.h"
#include "kernels/quantize/test_inputs.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline kernels {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

GroupScales scales_of(const std::vector<float>& values, const Shape& shape, const char* text,
                      const QuantizeOptions& options = {}) {
  const Format format = parse_format(text);
  return group_scales(values, format, grouping_of(shape, format.scaling), options);
}

std::vector<float> scales_only(const GroupScales& scales) {
  std::vector<float> list;
  for (const GroupScale& group : scales.groups) list.push_back(group.scale);
  return list;
}

class GroupScalesTest : public testing::Test {
 protected:
  void TearDown() override {
    reset_isa();
    set_thread_count(0);
  }
};

// The definition on each group's own list of elements.
GroupScales by_definition(const std::vector<float>& values, const Shape& shape,
                          const Format& format) {
  const Scaling& s = format.scaling;
  const Grouping grouping = grouping_of(shape, s);
  GroupScales result;
  float tensor_amax = 0;
  for (const float x : values) tensor_amax = std::max(tensor_amax, scaling_magnitude(x));
  for (std::int64_t g = 0; g < grouping.groups(); ++g) {
    float low = 0;
    float high = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (grouping.group_of(static_cast<std::int64_t>(i)) != g || std::isnan(values[i])) continue;
      low = std::min(low, std::clamp(values[i], -kMax, kMax));
      high = std::max(high, std::clamp(values[i], -kMax, kMax));
    }
    const float amax = std::max(-low, high);
    if (s.kind == ScaleKind::power_of_two) {
      result.groups.push_back({std::ldexp(1.0F, shared_exponent(format.element, s.rule, amax))});
    } else if (s.kind == ScaleKind::absmax) {
      result.groups.push_back({absmax_scale(format.element, amax)});
    } else if (s.kind == ScaleKind::minmax) {
      result.groups.push_back(minmax_scale(std::get<GridElement>(format.element), low, high));
    } else {
      result.tensor_scale = two_level_tensor_scale(format.element, tensor_amax);
      result.block_scales.push_back(
          two_level_block_scale(format.element, amax, result.tensor_scale));
      result.groups.push_back({result.block_scales.back() * result.tensor_scale});
    }
  }
  return result;
}

TEST_F(GroupScalesTest, FollowTheDefinitionForEveryKindAndGranularity) {
  const Shape shape{7, 45};
  for (const char* text :
       {"int8(scale=absmax)", "int8(scale=absmax,axis=0)", "e4m3(scale=absmax,axis=1)",
        "uint8(scale=minmax)", "uint8(scale=minmax,axis=1)", "int4(scale=minmax,block=16)",
        "int4(scale=minmax,block=3,axis=0)", "bfp(8)", "bfp(8,axis=0)", "mxfp4", "mxfp8(axis=0)",
        "mxfp6(rule=rceil)", "mxint8(rule=even)", "mxfp4(rule=ceil,block=7)", "nvfp4",
        "nvfp4(axis=0)", "nf4", "posit(8,2,scale=absmax,block=10)"}) {
    SCOPED_TRACE(text);
    const Format format = parse_format(text);
    const std::vector<float> values =
        mixed_inputs(static_cast<std::size_t>(shape.elements()), format);
    const GroupScales expected = by_definition(values, shape, format);
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      for (const int threads : {1, 2}) {
        set_thread_count(threads);
        const GroupScales got = scales_of(values, shape, text);
        ASSERT_EQ(got.groups.size(), expected.groups.size());
        EXPECT_EQ(scales_only(got), scales_only(expected));
        EXPECT_EQ(got.block_scales, expected.block_scales);
        EXPECT_EQ(got.tensor_scale, expected.tensor_scale);
        for (std::size_t g = 0; g < got.groups.size(); ++g) {
          EXPECT_EQ(got.groups[g].zero, expected.groups[g].zero);
        }
      }
    }
  }
}

TEST_F(GroupScalesTest, LongTensorsJoinTheRangesOfTheirChunks) {
  const Shape shape{3, 50021};
  for (const char* text : {"uint8(scale=minmax)", "uint8(scale=minmax,axis=1)", "bfp(8,axis=0)"}) {
    const Format format = parse_format(text);
    std::vector<float> values(static_cast<std::size_t>(shape.elements()), 0.5F);
    values.front() = -3;
    values[values.size() / 2] = 9;
    values.back() = -11;
    set_thread_count(1);
    const GroupScales one = scales_of(values, shape, text);
    set_thread_count(3);
    EXPECT_EQ(scales_only(scales_of(values, shape, text)), scales_only(one)) << text;
    if (format.scaling.granularity == Granularity::tensor) {
      EXPECT_EQ(scales_only(one), std::vector<float>{20.0F / 255});
    }
  }
}

TEST_F(GroupScalesTest, TheLargestMagnitudeIsFoundAtEveryPlace) {
  for (const Isa isa : supported_isas()) {
    set_isa(isa);
    for (std::size_t count = 0; count < 70; ++count) {
      std::vector<float> values(count, 0.25F);
      EXPECT_EQ(largest_magnitude_of(values), count == 0 ? 0.0F : 0.25F);
      for (std::size_t at = 0; at < count; ++at) {
        const float kept = values[at];
        const auto largest_with = [&](float x) {
          values[at] = x;
          return largest_magnitude_of(values);
        };
        ASSERT_EQ(largest_with(-7), 7.0F) << name_of(isa) << " " << count << " " << at;
        ASSERT_EQ(largest_with(-kEndless), kMax);
        ASSERT_EQ(largest_with(kNotANumber), count == 1 ? 0.0F : 0.25F);
        values[at] = kept;
      }
    }
  }
}

TEST_F(GroupScalesTest, AreThoseOfTheFormatOrThoseBesideTheData) {
  const std::vector<float> values(6, 1.0F);
  EXPECT_EQ(scales_only(scales_of(values, {2, 3}, "e4m3")), std::vector<float>{1});
  EXPECT_EQ(scales_only(scales_of(values, {2, 3}, "e4m3(scale=0.5)")), std::vector<float>{0.5F});
  EXPECT_EQ(scales_only(scales_of(values, {2, 3}, "e4m3(scale=0.5)", {.scales = {3}})),
            std::vector<float>{3});
  EXPECT_EQ(scales_only(scales_of(values, {2, 3}, "e4m3(axis=1)", {.scales = {3, 4, 5}})),
            (std::vector<float>{3, 4, 5}));
  const GroupScales affine =
      scales_of(values, {2, 3}, "uint8(axis=0)", {.scales = {1, 2}, .zeros = {7, 255}});
  EXPECT_EQ(affine.groups[1].scale, 2);
  EXPECT_EQ(affine.groups[0].zero, 7);
  EXPECT_EQ(affine.groups[1].zero, 255);
}

TEST_F(GroupScalesTest, RefuseScalesThatDoNotFit) {
  const std::vector<float> values(6, 1.0F);
  const auto refused = [&](const char* text, const QuantizeOptions& options) {
    try {
      scales_of(values, {2, 3}, text, options);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused("e4m3(axis=0)", {}));  // none at all
  EXPECT_TRUE(refused("e4m3(axis=0)", {.scales = {1, 2, 3}}));
  EXPECT_TRUE(refused("int8(axis=0)", {.scales = {1, 2}, .zeros = {1}}));
  EXPECT_TRUE(refused("e4m3(scale=1)", {.scales = {1, 2}}));
  EXPECT_TRUE(refused("mxfp4", {.scales = {1}}));
  EXPECT_TRUE(refused("e4m3", {.scales = {1}}));
  EXPECT_TRUE(refused("int8", {.zeros = {1}}));
  for (const float bad : {0.0F, -1.0F, kEndless, kNotANumber}) {
    EXPECT_TRUE(refused("e4m3(scale=2)", {.scales = {bad}})) << bad;
  }
  EXPECT_TRUE(refused("uint4(scale=2)", {.zeros = {16}}));
  EXPECT_TRUE(refused("uint4(scale=2)", {.zeros = {-1}}));
  EXPECT_TRUE(refused("e4m3(scale=2)", {.zeros = {1}}));
  EXPECT_FALSE(refused("uint4(scale=2)", {.zeros = {15}}));
}

TEST_F(GroupScalesTest, AnEmptyTensorHasTheScaleOfZeros) {
  EXPECT_EQ(scales_only(scales_of({}, {0}, "int8(scale=absmax)")), std::vector<float>{1});
  EXPECT_TRUE(scales_of({}, {0}, "mxfp4").groups.empty());
  EXPECT_EQ(scales_of({}, {3, 0}, "uint8(scale=minmax,axis=0)").groups.size(), 3U);
}

}  // namespace
}  // namespace nibble::inline kernels
