// SPDX-License-Identifier: Apache-2.0
// The words of a format's text form.
#pragma once

#include "nibble/numerics/format.h"
#include "numerics/words.h"

namespace nibble::inline numerics {

inline constexpr Words<Specials, 5> kSpecialsWords = {{{Specials::ieee, "ieee"},
                                                       {Specials::finite, "finite"},
                                                       {Specials::fn, "fn"},
                                                       {Specials::fnuz, "fnuz"},
                                                       {Specials::p3109, "p3109"}}};

inline constexpr Words<ScaleRule, 4> kScaleRuleWords = {{{ScaleRule::floor, "floor"},
                                                         {ScaleRule::ceil, "ceil"},
                                                         {ScaleRule::even, "even"},
                                                         {ScaleRule::rceil, "rceil"}}};

// Scales that come from the data; a given one is a number.
inline constexpr Words<ScaleKind, 4> kScaleKindWords = {{{ScaleKind::power_of_two, "pow2"},
                                                         {ScaleKind::absmax, "absmax"},
                                                         {ScaleKind::minmax, "minmax"},
                                                         {ScaleKind::two_level, "two-level"}}};

}  // namespace nibble::inline numerics
