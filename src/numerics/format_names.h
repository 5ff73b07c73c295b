// SPDX-License-Identifier: Apache-2.0
// The short names of known formats and what they stand for.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "nibble/numerics/format.h"

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

}  // namespace nibble::inline numerics
