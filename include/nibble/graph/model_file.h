// SPDX-License-Identifier: Apache-2.0
// The .nib model file: safetensors whose metadata holds the network, for any safetensors reader.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Free words about where a model came from: data set, recipe, seed, version… What is not printable
// in them (see src/core/name.h) is replaced where they are written and refused where they are
// read.
using Origin = std::map<std::string, std::string>;

struct ModelFile {
  Model model;
  Origin origin;
  bool has_content_hash = true;  // false: of an older version, its network cannot be checked
};

// Metadata: format version, the network as JSON, weights_hash, origin, and content_hash over all of
// it and the tensors. A file whose hashes do not fit its content is refused; one without
// content_hash is read with a warning. Written beside and renamed.
void write_model(const std::filesystem::path& path, const Model& model, const Origin& origin);
ModelFile read_model(const std::filesystem::path& path);
ModelFile parse_model(std::span<const std::byte> bytes, const std::string& name);

}  // namespace nibble::inline graph
