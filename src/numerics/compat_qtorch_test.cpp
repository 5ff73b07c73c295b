// SPDX-License-Identifier: Apache-2.0
// Tests of the reproduced packages: facts worked out by hand, and what the packages themselves gave
// (tools/make_compat_goldens.py). Comparisons are of bits; any NaN equals any NaN.
#include "numerics/compat_qtorch.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/core/npy.h"

namespace nibble::inline numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr Rounding kNearest{};
constexpr Rounding kStochastic{RoundingMode::stochastic};

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

float nearest(std::string_view format, Compat compat, float x, float group = 0) {
  return compat_round(parse_format(format), compat, kNearest, group, x, 0);
}

std::string error_of(std::string_view format, const Rounding& rounding, Compat compat) {
  const Format parsed = parse_format(format);
  try {
    check_compat(parsed, rounding, compat);
  } catch (const Error& error) {
    EXPECT_FALSE(compat_supports(parsed, rounding, compat));
    return error.what();
  }
  EXPECT_TRUE(compat_supports(parsed, rounding, compat));
  return "";
}

// How many of 16 evenly spread draws move x to `away`; all others must give `toward`.
int count_away(std::string_view format, Compat compat, float group, float x, float toward,
               float away) {
  int count = 0;
  for (std::uint32_t i = 0; i < 16; ++i) {
    const float y = compat_round(parse_format(format), compat, kStochastic, group, x, i << 28);
    EXPECT_TRUE(y == toward || y == away) << y;
    count += y == away ? 1 : 0;
  }
  return count;
}

TEST(Compat, NamesAreReadAndWritten) {
  for (const std::string_view name : {"none", "qtorch", "qtorch-bits", "qtorch+"}) {
    EXPECT_EQ(to_string(parse_compat(name)), name);
  }
  EXPECT_EQ(parse_compat("qtorch+"), Compat::qtorch_plus);
  EXPECT_THROW(parse_compat("qtorch-plus"), Error);
}

TEST(CompatQtorch, RefusesWhatThePackageLacks) {
  EXPECT_EQ(
      error_of("mxfp8", kNearest, Compat::qtorch),
      "[compat] scaling that qtorch does not have: got 'mxfp8-e4m3', expected none; blocks are "
      "bfp(wl)");
  EXPECT_NE(error_of("posit(8,1)", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("codebook(new_format)", kNearest, Compat::qtorch_bits), "");
  EXPECT_NE(error_of("posit(8,1)", kStochastic, Compat::qtorch_plus), "");
  EXPECT_NE(error_of("posit(32,2)", kNearest, Compat::qtorch_plus), "");
  EXPECT_NE(error_of("posit(8,1,scale=absmax)", kNearest, Compat::qtorch_plus), "");
  EXPECT_NE(error_of("codebook([1,2,3])", kNearest, Compat::qtorch_plus), "");
  EXPECT_NE(error_of("e4m3", {RoundingMode::nearest_away}, Compat::qtorch), "");
  EXPECT_NE(error_of("e4m3", {RoundingMode::stochastic, 16}, Compat::qtorch), "");
  EXPECT_NE(error_of("e4m3fnuz", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("e8m0", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("uint8", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("int8(scale=0.5)", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("bfp(8,block=32)", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("bfp(8,rule=ceil)", kNearest, Compat::qtorch), "");
  EXPECT_NE(error_of("bfp(23)", kNearest, Compat::qtorch_bits), "");
}

TEST(CompatQtorch, AcceptsWhatThePackageHas) {
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits, Compat::qtorch_plus}) {
    for (const auto& rounding : {kNearest, kStochastic}) {
      for (const std::string_view format :
           {"fixed(8,4)", "fixed(8,4,symmetric,clamp=off)", "bfp(8)", "bfp(8,axis=1)", "e4m3",
            "fp16", "float(8,23)"}) {
        EXPECT_EQ(error_of(format, rounding, compat), "");
      }
    }
  }
  EXPECT_EQ(error_of("posit(16,2,scale=0.25)", kNearest, Compat::qtorch_plus), "");
  EXPECT_EQ(error_of("codebook([1,2,3],signed)", kNearest, Compat::qtorch_plus), "");
  EXPECT_EQ(error_of("mxfp8", {RoundingMode::up}, Compat::none), "");
}

TEST(CompatQtorch, FixedPointTiesGoToEvenAndClamp) {
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits, Compat::qtorch_plus}) {
    const auto steps = [&](float n) { return nearest("fixed(8,4)", compat, n / 16) * 16; };
    EXPECT_EQ(steps(2.5F), 2);
    EXPECT_EQ(steps(3.5F), 4);
    EXPECT_EQ(steps(-2.5F), -2);
    EXPECT_EQ(steps(1000), 127);
    EXPECT_EQ(steps(-1000), -128);
    EXPECT_EQ(steps(kInf), 127);
    EXPECT_TRUE(std::isnan(steps(kNaN)));
    EXPECT_TRUE(same(steps(-0.3F), -0.0F));
    EXPECT_TRUE(same(steps(-0.0F), 0.0F));
    EXPECT_EQ(nearest("fixed(8,4,symmetric)", compat, -1000), -127.0F / 16);
    EXPECT_EQ(nearest("fixed(8,4,clamp=off)", compat, 1000), 1000);
    EXPECT_EQ(nearest("fixed(8,4,clamp=off)", compat, -kInf), -kInf);
    EXPECT_EQ(nearest("fixed(26,0)", compat, 1e9F), 0x1p25F);  // 2^25 - 1 is no fp32 number
  }
}

TEST(CompatQtorch, FixedPointExceptionsShowInBitsModeOnly) {
  const float above_half = 0.5F + 0x1p-24F;
  EXPECT_EQ(nearest("fixed(8,0)", Compat::qtorch_bits, above_half), 0);
  EXPECT_EQ(nearest("fixed(8,0)", Compat::qtorch, above_half), 1);
  const float odd = 0x1p23F + 1;
  EXPECT_EQ(nearest("fixed(32,0)", Compat::qtorch_bits, odd), odd + 1);
  EXPECT_EQ(nearest("fixed(32,0)", Compat::qtorch, odd), odd);
}

TEST(CompatQtorch, StochasticFixedPointKeepsExactValuesInValueModeOnly) {
  const Format format = parse_format("fixed(8,0)");
  const auto round = [&](Compat compat, float x, std::uint32_t draw) {
    return compat_round(format, compat, kStochastic, 0, x, draw);
  };
  for (const std::uint32_t draw : {0U, 1U << 8, 0x80000000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(round(Compat::qtorch, 3, draw), 3);
    EXPECT_EQ(round(Compat::qtorch, -3, draw), -3);
  }
  EXPECT_EQ(round(Compat::qtorch_bits, 3, 0), 2);            // RNI(3 + 0 - 1/2)
  EXPECT_EQ(round(Compat::qtorch_bits, 3, 0xFFFFFFFFU), 4);  // fl32(3 + r) is 4
}

TEST(CompatQtorch, StochasticRoundingGoesUpAsOftenAsTheFractionSays) {
  EXPECT_EQ(count_away("fixed(8,0)", Compat::qtorch, 0, 2.3125F, 2, 3), 5);
  EXPECT_EQ(count_away("fixed(8,0)", Compat::qtorch, 0, -2.3125F, -3, -2), 11);
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits}) {
    EXPECT_EQ(count_away("bfp(4)", compat, 1.0F, 0.328125F, 0.25F, 0.5F), 5);
    EXPECT_EQ(count_away("bfp(4)", compat, 1.0F, -0.328125F, -0.5F, -0.25F), 11);
    EXPECT_EQ(count_away("e4m3", compat, 0, 1.0390625F, 1.0F, 1.125F), 5);
    EXPECT_EQ(count_away("e4m3", compat, 0, -1.0390625F, -1.0F, -1.125F), 5);
    EXPECT_EQ(count_away("e4m3", compat, 0, 5 * 0x1p-13F, 0.0F, 0x1p-9F), 5);
  }
  EXPECT_EQ(count_away("e4m3", Compat::qtorch_plus, 0, 1.0390625F, 1.0F, 1.125F), 5);
}

TEST(CompatQtorch, BlockTiesGoUpAndCodesAreSymmetric) {
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits}) {
    const auto round = [&](float x) { return nearest("bfp(4)", compat, x, 1.99F); };
    EXPECT_EQ(round(0.125F), 0.25F);
    EXPECT_TRUE(same(round(-0.125F), 0.0F));
    EXPECT_EQ(round(-0.375F), -0.25F);
    EXPECT_EQ(round(1.99F), 1.75F);
    EXPECT_EQ(round(-1.99F), -1.75F);
    EXPECT_TRUE(same(nearest("bfp(4)", compat, -0.0F, 0.0F), 0.0F));
    EXPECT_TRUE(std::isnan(nearest("bfp(4)", compat, 1.0F, kInf)));
    EXPECT_TRUE(std::isnan(nearest("bfp(4)", compat, 1.0F, kNaN)));
  }
}

TEST(CompatQtorch, BlockRoundsTwiceAndOverflowsInBitsModeOnly) {
  const float below_tie = 0x1p-7F - 0x1p-31F;  // fl32(6 + x) is 6 + 2^-7
  EXPECT_EQ(nearest("bfp(8)", Compat::qtorch_bits, below_tie, 1.0F), 0x1p-6F);
  EXPECT_EQ(nearest("bfp(8)", Compat::qtorch, below_tie, 1.0F), 0.0F);
  EXPECT_EQ(nearest("bfp(8)", Compat::qtorch_bits, 2e38F, 2e38F), -0x1p127F * (2 - 0x1p-6F));
  EXPECT_EQ(nearest("bfp(8)", Compat::qtorch, 2e38F, 2e38F), 75 * 0x1p121F);
}

TEST(CompatQtorch, TheLargestOfAGroupKeepsNaN) {
  EXPECT_EQ(compat_group_max(1.0F, -2.0F), 2.0F);
  EXPECT_EQ(compat_group_max(1.0F, -kInf), kInf);
  EXPECT_TRUE(std::isnan(compat_group_max(kInf, kNaN)));
  EXPECT_TRUE(std::isnan(compat_group_max(kNaN, 3.0F)));
}

TEST(CompatQtorch, FloatsSaturateAtTheTopOfTheAllOnesBinade) {
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits}) {
    EXPECT_EQ(nearest("e4m3", compat, 1000), 480);
    EXPECT_EQ(nearest("e4m3", compat, kInf), 480);
    EXPECT_EQ(nearest("e4m3", compat, kNaN), 480);
    EXPECT_EQ(nearest("e4m3", compat, -kNaN), -480);
    EXPECT_EQ(nearest("fp16", compat, -1e9F), -131008);
    EXPECT_EQ(nearest("e5m2", compat, 1e9F), 114688);
    EXPECT_EQ(nearest("e3m2", compat, 1e9F), 28);
    EXPECT_EQ(nearest("e2m3", compat, 1e9F), 7.5F);
    EXPECT_EQ(nearest("e2m1", compat, 1e9F), 6);
    EXPECT_EQ(nearest("bf16", compat, 3.4028235e38F), kInf);
    EXPECT_EQ(nearest("bf16", compat, -kInf), -kInf);
    EXPECT_TRUE(std::isnan(nearest("bf16", compat, kNaN)));
  }
}

TEST(CompatQtorch, FloatTiesGoAwayAndZeroLosesItsSign) {
  for (const Compat compat : {Compat::qtorch, Compat::qtorch_bits}) {
    EXPECT_EQ(nearest("e4m3", compat, 1.0625F), 1.125F);
    EXPECT_EQ(nearest("e4m3", compat, -1.0625F), -1.125F);
    EXPECT_EQ(nearest("e4m3", compat, 0x1p-10F), 0x1p-9F);
    EXPECT_TRUE(same(nearest("e4m3", compat, -0.0F), 0.0F));
    EXPECT_TRUE(same(nearest("e4m3", compat, -1e-10F), 0.0F));
    EXPECT_EQ(nearest("fp32", compat, -1.1F), -1.1F);  // man=23 flips signs in the package
    EXPECT_EQ(nearest("fp32", compat, -1e-42F), -1e-42F);
  }
}

TEST(CompatQtorch, SubnormalFloatsRoundTwiceInBitsModeOnly) {
  EXPECT_EQ(nearest("e4m3", Compat::qtorch_bits, 9.76561743e-4F), 0x1p-9F);
  EXPECT_EQ(nearest("e4m3", Compat::qtorch, 9.76561743e-4F), 0.0F);
}

TEST(CompatQtorchPlus, FloatsHaveNoSubnormals) {
  const auto round = [](std::string_view format, float x) {
    return nearest(format, Compat::qtorch_plus, x);
  };
  EXPECT_EQ(round("e5m2", 1e9F), 57344);
  EXPECT_EQ(round("e4m3", kInf), 240);
  EXPECT_EQ(round("e4m3", -kNaN), -240);
  EXPECT_EQ(round("fp16", 1e9F), 65504);
  EXPECT_EQ(round("e4m3", 0x1p-7F * 1.125F), 0x1p-7F * 1.125F);
  EXPECT_EQ(round("e4m3", 0x1p-8F * -1.1F), -0x1p-7F);
  EXPECT_TRUE(same(round("e4m3", 0x1p-8F * -1.05F), 0.0F));
  EXPECT_EQ(round("bf16", kInf), 0x1p127F * (2 - 0x1p-7F));
}

TEST(CompatQtorchPlus, PositsGiveMinusInfinityForNaR) {
  const auto round = [](std::string_view format, float x) {
    return nearest(format, Compat::qtorch_plus, x);
  };
  for (const float x : {kInf, -kInf, kNaN}) EXPECT_EQ(round("posit(8,1)", x), -kInf);
  EXPECT_EQ(round("posit(8,1)", 1e9F), 4096);
  EXPECT_EQ(round("posit(8,1)", -1e-9F), -0x1p-12F);
  EXPECT_TRUE(same(round("posit(8,1)", -0.0F), 0.0F));
  EXPECT_EQ(round("posit(8,1,scale=0.25)", 1e9F), 1024);
}

TEST(CompatQtorchPlus, TablesTakeTheLowerEntryAndLoseWhatIsFar) {
  const auto round = [](float x) {
    return nearest("codebook(new_format)", Compat::qtorch_plus, x);
  };
  EXPECT_EQ(round(0.75F), 0.5F);
  EXPECT_EQ(round(-0.2F), -0.1875F);
  EXPECT_EQ(round(1e-9F), 0x1p-16F);
  EXPECT_EQ(round(100000.5F), 1.0F);
  for (const float x : {0.0F, 100001.5F, kInf, kNaN}) EXPECT_EQ(round(x), 0.0F) << x;
}

struct Golden {
  std::vector<std::string> formats;
  Tensor x;
  Tensor y;

  explicit Golden(const std::string& name)
      : x(read_npy(path(name + "_x.npy"))), y(read_npy(path(name + "_y.npy"))) {
    std::ifstream lines(path(name + ".txt"));
    for (std::string line; std::getline(lines, line);) formats.push_back(line);
  }

  static std::filesystem::path path(const std::string& file) {
    return std::filesystem::path(NIBBLE_GOLDEN_DIR) / "compat" / file;
  }
};

// Largest magnitude of the group of element i in a stack of matrices.
float group_max(const Tensor& x, const Scaling& s, std::size_t i) {
  const auto values = x.as<float>();
  const auto rows = static_cast<std::size_t>(x.shape()[1]);
  const auto columns = static_cast<std::size_t>(x.shape()[2]);
  const std::size_t first = i / (rows * columns) * rows * columns;
  float largest = 0;
  for (std::size_t j = first; j < first + rows * columns; ++j) {
    const bool is_whole = s.granularity == Granularity::tensor;
    if (is_whole || (s.axis == 0 ? j / columns == i / columns : j % columns == i % columns)) {
      largest = compat_group_max(largest, values[j]);
    }
  }
  return largest;
}

using Excuse = std::function<bool(const Format&, float x, float group, std::uint32_t draw)>;

// Compares every row with the package; returns how many values differ, each of which needs an
// excuse.
int count_excused(const std::string& name, Compat compat, const Rounding& rounding,
                  const Excuse& excuse) {
  const Golden golden(name);
  const auto x = golden.x.as<float>();
  const auto y = golden.y.as<float>();
  const Tensor draws =
      rounding.is_stochastic() ? read_npy(Golden::path(name + "_draw.npy")) : Tensor();
  EXPECT_EQ(y.size(), x.size() * golden.formats.size());
  int differing = 0;
  for (std::size_t row = 0; row < golden.formats.size(); ++row) {
    const Format format = parse_format(golden.formats[row]);
    check_compat(format, rounding, compat);
    const bool is_block = format.scaling.kind == ScaleKind::power_of_two;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = row * x.size() + i;
      const std::uint32_t draw = rounding.is_stochastic() ? draws.as<std::uint32_t>()[at] : 0;
      const float group = is_block ? group_max(golden.x, format.scaling, i) : 0.0F;
      const float got = compat_round(format, compat, rounding, group, x[i], draw);
      if (same(got, y[at])) continue;
      ++differing;
      EXPECT_TRUE(excuse(format, x[i], group, draw))
          << golden.formats[row] << " of " << x[i] << " in " << group << ": " << got << " for "
          << y[at];
    }
  }
  return differing;
}

bool none_excused(const Format&, float, float, std::uint32_t) {
  return false;
}

TEST(CompatGolden, BitsModeIsThePackageBitForBit) {
  const Compat bits = Compat::qtorch_bits;
  EXPECT_EQ(count_excused("qtorch_fixed", bits, kNearest, none_excused), 0);
  EXPECT_EQ(count_excused("qtorch_fixed_stochastic", bits, kStochastic, none_excused), 0);
  EXPECT_EQ(count_excused("qtorch_block", bits, kNearest, none_excused), 0);
  EXPECT_EQ(count_excused("qtorch_float", bits, kNearest, none_excused), 0);
}

TEST(CompatGolden, PlusModeIsTheForkBitForBit) {
  const Compat plus = Compat::qtorch_plus;
  EXPECT_EQ(count_excused("qtorch_plus_float", plus, kNearest, none_excused), 0);
  EXPECT_EQ(count_excused("qtorch_plus_posit", plus, kNearest, none_excused), 0);
  EXPECT_EQ(count_excused("qtorch_plus_table", plus, kNearest, none_excused), 0);
  EXPECT_EQ(count_excused("qtorch_fixed", plus, kNearest, none_excused), 0);
}

// Only 0.5 + 2^-24 of a step and odd numbers of steps from 2^23 on.
TEST(CompatGolden, ValueModeLeavesTheFixedPointExceptionsOnly) {
  const Excuse excuse = [](const Format& format, float x, float, std::uint32_t) {
    const double y = static_cast<double>(x) / std::get<GridElement>(format.element).step();
    return y == 0.5 + 0x1p-24 || (std::fabs(y) >= 0x1p23 && std::fmod(y, 2.0) != 0);
  };
  EXPECT_EQ(count_excused("qtorch_fixed", Compat::qtorch, kNearest, excuse), 59);
}

// Only where y + r has more than 24 bits, or is an integer and ties (A2).
TEST(CompatGolden, ValueModeLeavesInexactStochasticSumsOnly) {
  const Excuse excuse = [](const Format& format, float x, float, std::uint32_t draw) {
    const double y = static_cast<double>(x) / std::get<GridElement>(format.element).step();
    const double sum = y + std::ldexp(static_cast<double>(draw), -32);
    return sum != static_cast<double>(static_cast<float>(sum)) || sum == std::floor(sum) ||
           y == std::floor(y);
  };
  EXPECT_EQ(count_excused("qtorch_fixed_stochastic", Compat::qtorch, kStochastic, excuse), 13);
}

// Only next to a tie, where fl32(x + 6·2^E) lands on it, and where the base itself fails (A4, A8).
TEST(CompatGolden, ValueModeLeavesTheDoubleRoundingOfBlocksOnly) {
  const Excuse excuse = [](const Format& format, float x, float group, std::uint32_t) {
    if (group < 0x1p-126F || group >= 0x1p126F) return true;
    const int wl = std::get<GridElement>(format.element).bits;
    const double y = static_cast<double>(x) / std::ldexp(1.0, std::ilogb(group) + 2 - wl) + 0.5;
    return std::fabs(y - std::nearbyint(y)) <= std::ldexp(1.0, wl - 24);
  };
  EXPECT_EQ(count_excused("qtorch_block", Compat::qtorch, kNearest, excuse), 1725);
}

// Only subnormals, and NaNs whose payload a carry runs through (A4, A5).
TEST(CompatGolden, ValueModeLeavesTheDoubleRoundingOfSubnormalsOnly) {
  const Excuse excuse = [](const Format& format, float x, float, std::uint32_t) {
    const int bias = std::get<FloatElement>(format.element).bias;
    return std::isnan(x) || std::fabs(x) < std::ldexp(1.0F, 1 - bias);
  };
  EXPECT_EQ(count_excused("qtorch_float", Compat::qtorch, kNearest, excuse), 75);
}

}  // namespace
}  // namespace nibble::inline numerics
