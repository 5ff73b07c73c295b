// SPDX-License-Identifier: Apache-2.0
// Everything a run needs to go on, in one safetensors file that knows which run it belongs to.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/safetensors.h"
#include "run_folder/words.h"

namespace nibble::inline run_folder {

// Which run a checkpoint belongs to. `must_match` holds what cannot change between stop and resume,
// each under the name that an error should show: {"network", name}, {"seed", "1"}, …; long values
// as digest_of.
struct CheckpointIdentity {
  std::string kind = {};  // "float training"
  Words must_match = {};
  std::set<std::string> may_lack = {};  // of them: what files of older versions do not hold
};

struct Checkpoint {
  Words words = {};
  std::vector<NamedTensor> tensors = {};
  std::vector<std::string> lacking = {};  // fields of may_lack that the file does not hold

  // Throws an error that names the tensor where it is missing or of another type or shape.
  const Tensor& tensor(const std::string& name, DType dtype, const Shape& shape) const;
};

// Appears whole or not at all; an old checkpoint stays until the new one is on the disk.
void save_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity,
                     const Words& words, std::span<const NamedTensorView> tensors);

// Refuses a damaged file, a checkpoint of another kind, and one whose identity differs, with the
// field that does.
Checkpoint load_checkpoint(const std::filesystem::path& path, const CheckpointIdentity& identity);

// A short digest of a long text (a network, a policy) for must_match: 16 hexadecimal digits.
std::string digest_of(std::string_view text);

}  // namespace nibble::inline run_folder
