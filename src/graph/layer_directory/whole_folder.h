// SPDX-License-Identifier: Apache-2.0
// A folder that appears whole or not at all: written beside its place, then renamed.
#pragma once

#include <filesystem>
#include <vector>

#include "graph/layer_directory/nodes_to_layers.h"

namespace nibble {

// Folders above it are made. Refuses a place where something is, but for an empty folder.
void write_whole_folder(const std::filesystem::path& folder, const std::vector<WrittenFile>& files);

}  // namespace nibble
