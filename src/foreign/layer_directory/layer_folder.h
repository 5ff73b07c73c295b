// SPDX-License-Identifier: Apache-2.0
// The files of a layer directory for reading: layers by name, tensors by what a layer says of them.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "foreign/layer_directory/layer.h"
#include "nibble/core/tensor.h"

namespace nibble::inline foreign {

struct LayerFile {
  LayerRecord record;
  Layer layer;
};

template <class AnyLayer>
struct LayerFileOf {
  LayerRecord record;
  AnyLayer layer;
};

class LayerFolder {
 public:
  explicit LayerFolder(const std::filesystem::path& path);

  bool has(const std::string& name) const;
  LayerFile read(const std::string& name) const;

  template <class AnyLayer>
  LayerFileOf<AnyLayer> read_as(const std::string& name) const {
    LayerFile file = read(name);
    if (const auto* layer = std::get_if<AnyLayer>(&file.layer)) {
      return {std::move(file.record), *layer};
    }
    file.record.fail("type", file.record.type, AnyLayer::kType);
  }

  // The numbers in the order of the file. Four-bit ones stay packed, as a list of bytes. The size
  // of the file is checked first, and no file serves twice: memory is what the files justify.
  Tensor read_tensor(const LayerRecord& record, std::string_view key, const StoredTensor& tensor);

 private:
  std::filesystem::path data_path(const LayerRecord& record, std::string_view key,
                                  const std::string& written) const;

  std::filesystem::path path_;  // as the caller has it, for errors
  std::filesystem::path root_;  // without links
  std::set<std::filesystem::path> used_;
};

}  // namespace nibble::inline foreign
