// SPDX-License-Identifier: Apache-2.0
// Names and words from elsewhere: which are taken where they enter, and how they are shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nibble::inline core {

// Valid UTF-8 without control characters (C1, line separators and those that turn the direction of
// text included): what a terminal, a comment or a table shows as it is.
bool is_printable(std::string_view words);

// Throws "[op] WHAT: got …, expected …" where the name of a network, a layer, a class or a recipe
// has more bytes than the limit 'name'.
void check_name_length(std::string_view op, std::string_view what, std::string_view name);

// The same, and unless the name is printable.
void check_name(std::string_view op, std::string_view what, std::string_view name);

// Printable: each wrong byte and each control character becomes U+FFFD; tabs and line ends become
// spaces.
std::string well_formed(std::string_view words);

// How many characters a terminal shows of well-formed words.
std::size_t width_of(std::string_view words);

// At most `most` characters, the last one an ellipsis where some are missing.
std::string shortened(std::string_view words, std::size_t most);

// For an error: in quotes, printable, short.
std::string in_quotes(std::string_view words);

// Whether a pattern fits the whole name: * stands for any text, ? for one letter.
bool matches(std::string_view pattern, std::string_view name);

// Part of the name of a file or folder that is named after something: what is no letter, digit,
// '-', '_' or '.' becomes '_', and so does a first '.' or '-'.
std::string file_part(std::string_view name);

}  // namespace nibble::inline core
