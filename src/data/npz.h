// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: named arrays in a zip archive, as savez and savez_compressed write them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

// The archive is held in memory, arrays are unpacked when they are read. Sizes, offsets and
// checksums are verified; errors name the file and the array.
class Npz {
 public:
  explicit Npz(const std::filesystem::path& path);
  Npz(std::vector<std::byte> bytes, const std::string& name);  // `name` is used in errors
  ~Npz();
  Npz(const Npz&) = delete;
  Npz& operator=(const Npz&) = delete;

  const std::vector<std::string>& names() const;  // in the order of the file, without .npy
  bool has(std::string_view name) const;
  Tensor read(std::string_view name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nibble::inline data
