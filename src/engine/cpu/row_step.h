// SPDX-License-Identifier: Apache-2.0
// What is done to each pixel by itself, a pixel's channels at a time.
#pragma once

#include <memory>

#include "engine/cpu/plain_step.h"

namespace nibble::inline engine {

// Whether the operation is one of these: bias, relu, rescale, table, add, concat, slice, pad.
bool runs_by_rows(const Op& op);

// Of a rescale: is_wide as in RescaleTile. Throws where the operation does not run by rows.
std::unique_ptr<CpuStep> make_row_step(PlainSpec spec, bool is_wide);

}  // namespace nibble::inline engine
