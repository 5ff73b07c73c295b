// SPDX-License-Identifier: Apache-2.0
// What folder/README.md.in leaves to be said: what a network needs and what is proven of it.
#pragma once

#include <string>

#include "emit/emitted_parts.h"

namespace nibble::inline emit {

std::string figures_table(const EmittedParts& parts);
std::string certificate_table(const EmittedParts& parts);
std::string input_words(const EmittedParts& parts);

}  // namespace nibble::inline emit
