// SPDX-License-Identifier: Apache-2.0
// A device that is gone, or has no memory left, while a run uses it: the run goes on on the CPU,
// and says so.
#pragma once

#include <cstdint>
#include <string_view>

#include "nibble/core/error.h"

namespace nibble::inline backend {

bool is_of_device(const Error& error);

// The weights, beside those that the run would have had with its device.
enum class LossOutcome { same_weights, similar_weights };

// One line. Steps after `from_step` were made on the CPU.
void warn_of_loss(std::string_view what, std::int64_t from_step, LossOutcome outcome);

}  // namespace nibble::inline backend
