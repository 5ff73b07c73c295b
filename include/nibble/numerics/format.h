// SPDX-License-Identifier: Apache-2.0
// A number format: element × scaling, with one text form that is read and written everywhere.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nibble/numerics/element.h"
#include "nibble/numerics/scaling.h"

namespace nibble::inline numerics {

struct Format {
  Element element;
  Scaling scaling;

  bool operator==(const Format&) const = default;
};

// Reads the text form; an error names the column. docs/formats/README.md has the grammar.
Format parse_format(std::string_view text);

// The canonical text form: parse_format(to_string(f)) == f, and equal formats print alike.
std::string to_string(const Format& format);

// The words of the text form.
std::string_view to_string(Specials specials);
std::string_view to_string(ScaleRule rule);

struct NamedFormat {
  std::string_view name;
  std::string_view family;   // "float", "grid", "block", "posit", "codebook"
  std::string_view summary;  // one line
};

// The short names, in the order in which a person would list them.
std::span<const NamedFormat> named_formats();

// Throws where the rounding or the overflow has no meaning for the format.
void check_combination(const Format& format, const Rounding& rounding, Overflow overflow);

}  // namespace nibble::inline numerics
