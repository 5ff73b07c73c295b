// SPDX-License-Identifier: Apache-2.0
// The words of a format's text form: the short names of known formats and what they stand for, and
// those of its parts.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "nibble/numerics/format.h"
#include "numerics/words.h"

namespace nibble::inline numerics {

struct NameEntry {
  NamedFormat listing;
  Format format;
};

std::span<const NameEntry> name_entries();

// A name of the table, else any eXmY, with an optional bias and specials: e5m10, e4m3b11fnuz,
// e3m4fn.
std::optional<Format> format_by_name(std::string_view name);

// The named tables of `codebook(NAME)`: nf4, new_format, act_format.
std::optional<CodebookElement> codebook_by_name(std::string_view name);

inline constexpr WordTable<Specials, 5> kSpecialsWords = {{{Specials::ieee, "ieee"},
                                                           {Specials::finite, "finite"},
                                                           {Specials::fn, "fn"},
                                                           {Specials::fnuz, "fnuz"},
                                                           {Specials::p3109, "p3109"}}};

inline constexpr WordTable<ScaleRule, 4> kScaleRuleWords = {{{ScaleRule::floor, "floor"},
                                                             {ScaleRule::ceil, "ceil"},
                                                             {ScaleRule::even, "even"},
                                                             {ScaleRule::rceil, "rceil"}}};

// Scales that come from the data; a given one is a number.
inline constexpr WordTable<ScaleKind, 4> kScaleKindWords = {{{ScaleKind::power_of_two, "pow2"},
                                                             {ScaleKind::absmax, "absmax"},
                                                             {ScaleKind::minmax, "minmax"},
                                                             {ScaleKind::two_level, "two-level"}}};

}  // namespace nibble::inline numerics
