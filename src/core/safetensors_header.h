// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file as the reader and the writer of whole files need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/safetensors.h"

namespace nibble::inline core {

inline constexpr std::size_t kSafetensorsLength = 8;               // bytes of the header's length
inline constexpr std::uint64_t kSafetensorsMaxHeader = 100000000;  // as the reference has it

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;  // of its bytes, counted from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  SafetensorsMetadata metadata;
  std::vector<SafetensorsEntry> entries;
};

// The length of the JSON text from the first eight bytes; `size` is that of the whole file.
std::size_t safetensors_header_length(std::span<const std::byte> first, std::uint64_t size,
                                      const std::string& name);

// Parses the text and checks that its entries cover `data_size` bytes, each once.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_size,
                                           const std::string& name);

// Length and text, padded so that the data begins at a multiple of eight.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace nibble::inline core
