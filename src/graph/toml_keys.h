// SPDX-License-Identifier: Apache-2.0
// How deep keys nest tables, before toml++ reads them.
#pragma once

#include <string_view>

namespace nibble::inline graph {

// Throws "[op] SOURCE:LINE: key: got …, expected …" where a key as a.b.c has more than 8 names.
// Each is a table within another, of which toml++ bounds no number, and takes them apart by
// recursion.
void check_toml_keys(std::string_view text, std::string_view source, std::string_view op);

}  // namespace nibble::inline graph
