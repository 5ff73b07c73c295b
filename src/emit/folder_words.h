// SPDX-License-Identifier: Apache-2.0
// What the placeholders in the texts of src/emit/folder stand for.
#pragma once

#include "emit/emitted_parts.h"

namespace nibble::inline emit {

CWords folder_words(const EmittedParts& parts, const EmitSettings& settings, std::int64_t vectors);

}  // namespace nibble::inline emit
