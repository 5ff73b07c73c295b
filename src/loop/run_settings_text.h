// SPDX-License-Identifier: Apache-2.0
// The part of recipes that says nothing of the arithmetic: read from TOML, told as JSON.
#pragma once

#include <string>
#include <string_view>

#include "graph/toml_reader.h"
#include "nibble/loop/run_settings.h"

namespace nibble {

// Takes its keys and leaves the others; a recipe without a name is called after its source.
RunSettings read_run_settings(TomlReader& table, std::string_view source);

// All settings that decide the numbers. The keys of `method`, how the network learns, and of
// `numbers`, the formats it learns in, stand among them; both are JSON objects.
std::string run_settings_json(const RunSettings& settings, std::string_view method,
                              std::string_view numbers);

}  // namespace nibble
