// SPDX-License-Identifier: Apache-2.0
// The TOML form of policies, as a file of its own or as a part of a recipe.
#pragma once

#include "graph/toml_reader.h"
#include "nibble/float_training/policy.h"

namespace nibble::inline float_training {

// The keys round and loss_scale of a table.
PrecisionPolicy read_policy(TomlReader& table, std::string_view source);

}  // namespace nibble::inline float_training
