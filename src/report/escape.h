// SPDX-License-Identifier: Apache-2.0
// Words from elsewhere in pages: names of runs, layers and classes may hold anything.
#pragma once

#include <string>
#include <string_view>

#include "core/name.h"

namespace nibble::inline report {

// Well-formed, and fit for the text and the quoted attributes of XML and HTML.
std::string escaped(std::string_view words);

}  // namespace nibble::inline report
