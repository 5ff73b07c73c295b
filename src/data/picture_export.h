// SPDX-License-Identifier: Apache-2.0
// A data set as files: folders of classes with a PNG for every picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace nibble::inline data {

struct ExportedPictures {
  std::int64_t train = 0;
  std::int64_t test = 0;
};

// Writes out/train/CLASS/NUMBER.png and, of data that has it, out/test/CLASS/NUMBER.png, the number
// being the picture's place in its split. load_dataset(out) has the same pixels and labels, class
// by class. Where names of classes would not come in their order, or cannot be names of folders,
// folders are called by number. `out` must not be there; it appears when it is whole.
ExportedPictures export_pictures(const std::string& data, const std::filesystem::path& out);

}  // namespace nibble::inline data
