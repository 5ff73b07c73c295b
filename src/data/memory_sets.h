// SPDX-License-Identifier: Apache-2.0
// The data sets that programs keep in memory, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/array_set.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {

// Null where no program keeps one of that name.
std::shared_ptr<const ArraySet> find_in_memory(std::string_view name);

Dataset read_from_memory(const ArraySet& set, Split split, bool takes_unlabelled);

}  // namespace nibble::inline data
