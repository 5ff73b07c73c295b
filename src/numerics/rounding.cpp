// SPDX-License-Identifier: Apache-2.0
// The names of roundings and overflow rules, and which have a meaning for a format.
#include "nibble/numerics/rounding.h"

#include <charconv>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"
#include "numerics/words.h"

namespace nibble::inline numerics {
namespace {

constexpr WordTable<RoundingMode, 7> kModes = {{{RoundingMode::nearest_even, "nearest-even"},
                                                {RoundingMode::nearest_away, "nearest-away"},
                                                {RoundingMode::toward_zero, "toward-zero"},
                                                {RoundingMode::up, "up"},
                                                {RoundingMode::down, "down"},
                                                {RoundingMode::to_odd, "to-odd"},
                                                {RoundingMode::stochastic, "stochastic"}}};

constexpr WordTable<Overflow, 4> kOverflows = {{{Overflow::native, "native"},
                                                {Overflow::saturate, "saturate"},
                                                {Overflow::infinity, "infinity"},
                                                {Overflow::nan, "nan"}}};

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

}  // namespace

Rounding parse_rounding(std::string_view text) {
  constexpr std::string_view kPrefix = "stochastic(";
  if (text.starts_with(kPrefix) && text.ends_with(")")) {
    const std::string_view digits = text.substr(kPrefix.size(), text.size() - kPrefix.size() - 1);
    int bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc{} || end != digits.data() + digits.size() || bits < 1 || bits > 32) {
      throw Error("rounding", "random bits", quoted(digits), "1 to 32");
    }
    return {RoundingMode::stochastic, bits};
  }
  if (const auto mode = value_of(kModes, text)) return {*mode};
  throw Error("rounding", "unknown rounding", quoted(text), list_of(kModes) + "(r)");
}

std::string to_string(const Rounding& rounding) {
  std::string text(word_of(kModes, rounding.mode));
  if (rounding.is_stochastic() && rounding.random_bits != 32) {
    text += "(" + std::to_string(rounding.random_bits) + ")";
  }
  return text;
}

Overflow parse_overflow(std::string_view text) {
  if (const auto overflow = value_of(kOverflows, text)) return *overflow;
  throw Error("overflow", "unknown overflow rule", quoted(text), list_of(kOverflows));
}

std::string_view to_string(Overflow overflow) {
  return word_of(kOverflows, overflow);
}

void check_combination(const Format& format, const Rounding& rounding, Overflow overflow) {
  if (rounding.random_bits < 1 || rounding.random_bits > 32) {
    throw Error("rounding", "random bits", std::to_string(rounding.random_bits), "1 to 32");
  }
  const ElementInfo info = describe(format.element);
  const bool is_float = std::holds_alternative<FloatElement>(format.element);
  const auto refuse = [&](std::string_view expected) {
    throw Error("overflow", "rule without a meaning for " + to_string(format),
                std::string(to_string(overflow)), expected);
  };
  // Posits and codebooks always end at their largest value, integers at their bounds.
  if (overflow == Overflow::infinity && !info.has_infinity) {
    refuse(info.has_nan && is_float ? "native, saturate or nan" : "native or saturate");
  }
  if (overflow == Overflow::nan && (!info.has_nan || !is_float)) refuse("native or saturate");
}

}  // namespace nibble::inline numerics
