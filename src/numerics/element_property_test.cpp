// SPDX-License-Identifier: Apache-2.0
// Properties that rounding has for every element: idempotent, monotone, symmetric, nearest.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "numerics/test_format_generator.h"
#include "numerics/test_number_line.h"

namespace nibble::inline numerics {
namespace {

Rounding any_rounding() {
  return {static_cast<RoundingMode>(*rc::gen::inRange(0, 7)), *rc::gen::inRange(1, 33)};
}

std::uint32_t any_draw(const Rounding& rounding) {
  return static_cast<std::uint32_t>(
      *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << rounding.random_bits));
}

RC_GTEST_PROP(AnyElement, RoundingTwiceIsRoundingOnce, ()) {
  const Element element = *any_element();
  const double x = *number_near(element);
  const Rounding first = any_rounding();
  const Rounding second = any_rounding();
  const double once = round_to(element, x, first, Overflow::native, any_draw(first));
  RC_ASSERT(is_same(round_to(element, once, second, Overflow::native, any_draw(second)), once));
}

RC_GTEST_PROP(AnyElement, WhatRoundingGivesHasACodeThatGivesItBack, ()) {
  const Element element = *any_element();
  const Rounding rounding = any_rounding();
  const double q =
      round_to(element, *number_near(element), rounding, Overflow::native, any_draw(rounding));
  const auto* grid = std::get_if<GridElement>(&element);
  const bool has_codes = grid == nullptr || grid->clamps;
  RC_PRE(has_codes);
  RC_ASSERT(is_same(decode_code(element, encode_value(element, q)), q));
}

RC_GTEST_PROP(AnyElement, RoundingIsMonotone, ()) {
  const Element element = *any_element();
  double low = *number_near(element);
  double high = *number_near(element);
  if (low > high) std::swap(low, high);
  const Rounding rounding = any_rounding();
  const std::uint32_t draw = any_draw(rounding);
  RC_ASSERT(round_to(element, low, rounding, Overflow::native, draw) <=
            round_to(element, high, rounding, Overflow::native, draw));
}

RC_GTEST_PROP(AnyElement, NearestIsNearest, ()) {
  const Element element = *rc::gen::oneOf(any_float(), any_grid(), any_codebook());
  const double x = *number_near(element);
  const double other = round_to(element, *number_near(element), {}, Overflow::saturate);
  for (const RoundingMode mode : {RoundingMode::nearest_even, RoundingMode::nearest_away}) {
    const double q = round_to(element, x, {mode}, Overflow::saturate);
    // Subtraction rounds monotonically: the comparison is sound.
    RC_ASSERT(std::fabs(q - x) <= std::fabs(other - x));
  }
}

RC_GTEST_PROP(AnyElement, DirectedRoundingsKeepTheirSide, ()) {
  const Element element = *rc::gen::oneOf(any_float(), any_grid(), any_posit());
  const ElementInfo info = describe(element);
  const double x = *number_near(element);
  RC_PRE(x >= info.lowest && x <= info.max);
  RC_PRE(std::fabs(x) >= info.min_positive);  // posits and e8m0 do not round to zero
  RC_ASSERT(round_to(element, x, {RoundingMode::up}) >= x);
  RC_ASSERT(round_to(element, x, {RoundingMode::down}) <= x);
  RC_ASSERT(std::fabs(round_to(element, x, {RoundingMode::toward_zero})) <= std::fabs(x));
}

bool is_symmetric(const Element& element) {
  if (const auto* f = std::get_if<FloatElement>(&element)) return f->is_signed;
  if (const auto* g = std::get_if<GridElement>(&element)) return g->is_symmetric || !g->clamps;
  return true;
}

RC_GTEST_PROP(AnyElement, TheSignOnlyMirrors, ()) {
  const Element element =
      *rc::gen::suchThat(rc::gen::oneOf(any_float(), any_grid(), any_posit()), is_symmetric);
  const double x = *number_near(element);
  const Rounding rounding = any_rounding();
  const std::uint32_t draw = any_draw(rounding);
  Rounding mirrored = rounding;
  if (rounding.mode == RoundingMode::up) mirrored.mode = RoundingMode::down;
  if (rounding.mode == RoundingMode::down) mirrored.mode = RoundingMode::up;
  RC_ASSERT(round_to(element, -x, mirrored, Overflow::native, draw) ==
            -round_to(element, x, rounding, Overflow::native, draw));
}

RC_GTEST_PROP(AnyElement, StochasticTakesOneOfTheTwoNeighbours, ()) {
  const Element element = *any_element();
  const double x = *number_near(element);
  const Rounding rounding{RoundingMode::stochastic, *rc::gen::inRange(1, 33)};
  const double q = round_to(element, x, rounding, Overflow::saturate, any_draw(rounding));
  RC_ASSERT(q == round_to(element, x, {RoundingMode::up}, Overflow::saturate) ||
            q == round_to(element, x, {RoundingMode::down}, Overflow::saturate));
}

RC_GTEST_PROP(AnyElement, AnFp32ValueStaysOneWhereTheElementSaysSo, ()) {
  const Element element = *any_element();
  RC_PRE(describe(element).quantizes_fp32);
  const auto x = static_cast<double>(static_cast<float>(*number_near(element)));
  const Rounding rounding = any_rounding();
  const double q = round_to(element, x, rounding, Overflow::native, any_draw(rounding));
  RC_ASSERT(q == static_cast<double>(static_cast<float>(q)));
}

}  // namespace
}  // namespace nibble::inline numerics
