// SPDX-License-Identifier: Apache-2.0
// Rules of placement for integer training: from the text of --place to the backends of every pass.
#pragma once

#include <string_view>

#include "backend/place_rules.h"
#include "integer_step/placement.h"
#include "nibble/integer_step/settings.h"

namespace nibble::inline integer_step {

// The text of --place: the device of all that no rule names, and the rules.
void choose_place(std::string_view text, IntegerOptions& options);

// As the options say; every device is made once. Throws where one is not there.
Placement placement_of(const Network& network, const IntegerOptions& options);

}  // namespace nibble::inline integer_step
