// SPDX-License-Identifier: Apache-2.0
// Checkpoints as other versions would have written them.
#pragma once

#include <filesystem>

#include "nibble/core/safetensors.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline run_folder {

// The same state under what change(must_match) leaves of its identity.
template <class Change>
void change_identity(const std::filesystem::path& path, const Change& change) {
  const Safetensors file = read_safetensors(path);
  CheckpointIdentity identity{.kind = file.metadata.at("kind")};
  Words words;
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with("match.")) identity.must_match[key.substr(6)] = value;
    if (key.starts_with("word.")) words[key.substr(5)] = value;
  }
  change(identity.must_match);
  save_checkpoint(path, identity, words, views_of(file.tensors));
}

}  // namespace nibble::inline run_folder
