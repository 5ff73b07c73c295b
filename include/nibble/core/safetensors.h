// SPDX-License-Identifier: Apache-2.0
// Safetensors files: named tensors and free words beside them, read with suspicion.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline core {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct NamedTensorView {
  std::string name;
  ConstTensorView tensor;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

struct Safetensors {
  SafetensorsMetadata metadata;
  std::vector<NamedTensor> tensors;  // in the order of the header
};

// Refused: unknown types, names given twice, offsets that overlap, leave holes, are not a multiple
// of the element's size or do not fit the shape, headers of more than 100 MB.
Safetensors read_safetensors(const std::filesystem::path& path);
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

// The header has the order that is given; the data lies by falling size of the elements, so that
// all of it is aligned. The file is written beside and renamed.
void write_safetensors(const std::filesystem::path& path, const SafetensorsMetadata& metadata,
                       std::span<const NamedTensorView> tensors);
void write_safetensors(std::ostream& out, const SafetensorsMetadata& metadata,
                       std::span<const NamedTensorView> tensors);

std::vector<NamedTensorView> views_of(const std::vector<NamedTensor>& tensors);

// 16 digits of XXH3 over all metadata but the value of one key, which may hold the hash, and over
// all tensors: names, types, shapes, bytes. The order of the tensors does not matter.
std::string content_hash(const SafetensorsMetadata& metadata, std::vector<NamedTensorView> tensors,
                         std::string_view but);

}  // namespace nibble::inline core
