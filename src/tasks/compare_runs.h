// SPDX-License-Identifier: Apache-2.0
// What differs between runs, and what came of it, as data.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.h"

namespace nibble::inline tasks {

// Every list has one entry a run, null where a run has none.
std::string comparison_json(const std::vector<RunRecord>& runs);

}  // namespace nibble::inline tasks
