// SPDX-License-Identifier: Apache-2.0
// Whether mpirun or a scheduler started this process, from the environment alone.
#pragma once

#include <optional>

namespace nibble::inline cluster {

// How many processes it started together with this one; 0: it does not say.
std::optional<int> launched_processes();

}  // namespace nibble::inline cluster
