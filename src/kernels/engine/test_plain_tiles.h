// SPDX-License-Identifier: Apache-2.0
// AMX's way of multiplying matrices where there is no AMX: tiles are plain memory. Needs VNNI.
#pragma once

#include "kernels/engine/engine_kernels.h"

namespace nibble::inline kernels {

void multiply_on_plain_tiles(const FilterMatrix& matrix, const FilterTile& panel,
                             const RescaleTile& rescale);

}  // namespace nibble::inline kernels
