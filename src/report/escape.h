// SPDX-License-Identifier: Apache-2.0
// Words from elsewhere made harmless: names of runs, layers and classes may hold anything.
#pragma once

#include <string>
#include <string_view>

namespace nibble {

// Valid UTF-8 without control characters: each wrong byte, and each control character (C1 and
// those that turn the direction of text included), becomes U+FFFD; tabs and line ends become
// spaces.
std::string well_formed(std::string_view words);

// Well-formed, and fit for the text and the quoted attributes of XML and HTML.
std::string escaped(std::string_view words);

// How many characters a terminal shows of well-formed words.
std::size_t width_of(std::string_view words);

// At most `most` characters, the last one an ellipsis where some are missing.
std::string shortened(std::string_view words, std::size_t most);

}  // namespace nibble
