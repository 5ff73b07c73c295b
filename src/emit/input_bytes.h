// SPDX-License-Identifier: Apache-2.0
// Pictures as the codes that an emitted network takes: normalization and rounding as a table.
#pragma once

#include <optional>

#include "emit/plan.h"

namespace nibble::inline emit {

// code = table[byte], or table[256·channel + byte] where channels differ. None: the input has no
// scale, so that bytes mean nothing to it, or its codes are the bytes themselves.
std::optional<CArray> table_of_bytes(const NetworkView& view, const EmitPlan& plan);

}  // namespace nibble::inline emit
