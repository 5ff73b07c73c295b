// SPDX-License-Identifier: Apache-2.0
// For tests: random elements, formats and numbers for rapidcheck.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

namespace nibble::inline numerics {

inline bool is_possible(const Element& element) {
  try {
    check(element);
  } catch (const Error&) {
    return false;
  }
  return true;
}

inline rc::Gen<Element> any_float() {
  return rc::gen::suchThat(rc::gen::exec([]() -> Element {
                             FloatElement f;
                             f.exponent_bits = *rc::gen::inRange(1, 9);
                             f.mantissa_bits = *rc::gen::inRange(0, 24);
                             const int usual = 1 << (f.exponent_bits - 1);
                             f.bias = *rc::gen::oneOf(rc::gen::element(usual, usual - 1),
                                                      rc::gen::inRange(-30, 160));
                             f.specials = static_cast<Specials>(*rc::gen::inRange(0, 5));
                             f.has_subnormals = *rc::gen::arbitrary<bool>();
                             f.is_signed = *rc::gen::weightedElement<bool>({{3, true}, {1, false}});
                             f.has_zero = *rc::gen::weightedElement<bool>({{5, true}, {1, false}});
                             return f;
                           }),
                           is_possible);
}

inline rc::Gen<Element> any_grid() {
  return rc::gen::suchThat(rc::gen::exec([]() -> Element {
                             GridElement g;
                             g.is_integer = *rc::gen::arbitrary<bool>();
                             g.bits = *rc::gen::inRange(1, g.is_integer ? 17 : 33);
                             g.fraction_bits = g.is_integer ? 0 : *rc::gen::inRange(-20, 40);
                             g.is_signed = !g.is_integer || *rc::gen::arbitrary<bool>();
                             g.is_symmetric = g.is_signed && *rc::gen::arbitrary<bool>();
                             g.clamps = g.is_integer || *rc::gen::arbitrary<bool>();
                             return g;
                           }),
                           is_possible);
}

inline rc::Gen<Element> any_posit() {
  return rc::gen::exec([]() -> Element {
    return PositElement{*rc::gen::inRange(2, 33), *rc::gen::inRange(0, 4)};
  });
}

inline rc::Gen<Element> any_codebook() {
  return rc::gen::exec([]() -> Element {
    const auto mantissas = *rc::gen::unique<std::vector<int>>(
        static_cast<std::size_t>(*rc::gen::inRange(2, 20)), rc::gen::inRange(-(1 << 24), 1 << 24));
    const int exponent = *rc::gen::inRange(-60, 40);
    CodebookElement c;
    for (const int m : mantissas) c.values.push_back(std::ldexp(static_cast<float>(m), exponent));
    std::sort(c.values.begin(), c.values.end());
    return c;
  });
}

inline rc::Gen<Element> any_element() {
  return rc::gen::oneOf(any_float(), any_grid(), any_posit(), any_codebook());
}

// Scaling options in text, of which some do not fit the element.
inline rc::Gen<std::string> any_options() {
  return rc::gen::exec([]() {
    std::string text = *rc::gen::elementOf(std::vector<std::string>{
        "", "scale=0.1", "scale=1", "scale=pow2", "scale=absmax", "scale=minmax", "scale=two-level",
        "scale=two-level,tensor_scale=0.004", "zero=3", "scale=2.5e-7,zero=-1", "axis=0"});
    if (*rc::gen::arbitrary<bool>()) text += ",block=" + std::to_string(*rc::gen::inRange(1, 100));
    if (*rc::gen::arbitrary<bool>()) text += ",axis=" + std::to_string(*rc::gen::inRange(-3, 3));
    if (*rc::gen::arbitrary<bool>()) {
      text += ",rule=" +
              *rc::gen::elementOf(std::vector<std::string>{"floor", "ceil", "even", "rceil"});
    }
    return text;
  });
}

// A number in or near the element's range, often a value of the element or beside one.
inline rc::Gen<double> number_near(const Element& element) {
  return rc::gen::exec([element]() {
    const ElementInfo info = describe(element);
    const double top = std::max(info.max, -info.lowest);
    const double bottom = std::max(info.min_positive, 0x1p-149);
    const int exponent = *rc::gen::inRange(std::ilogb(bottom) - 2, std::ilogb(top) + 3);
    const auto bits = *rc::gen::inRange<std::int64_t>(0, 1LL << 52);
    const double fraction = static_cast<double>(bits) * 0x1p-52;
    const double x = std::ldexp(*rc::gen::element(-1.0, 1.0) * (1 + fraction), exponent);
    if (*rc::gen::arbitrary<bool>()) return x;
    const double value = round_to(element, x, {}, Overflow::saturate);
    return *rc::gen::element(value, std::nextafter(value, 1e300), std::nextafter(value, -1e300));
  });
}

}  // namespace nibble::inline numerics
