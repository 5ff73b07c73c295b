// SPDX-License-Identifier: Apache-2.0
// Bits of layers as TOML that people write:
//
//   [layers."block1.conv2"]
//   weights = "int4"
//   activations = "uint8"
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

// int2 to int8, and where they may be unsigned uint2 to uint8; nothing of other words.
std::optional<int> integer_bits(std::string_view format, bool may_be_unsigned);

// Names must be those of a conv2d or linear of the network. A key that is missing is 0: as without
// an entry. Of activations the bits count alone. `source` is used in errors.
std::map<std::string, LayerBits> parse_layer_bits(std::string_view text, std::string_view source,
                                                  const Network& network);
std::map<std::string, LayerBits> read_layer_bits(const std::filesystem::path& path,
                                                 const Network& network);

std::string layer_bits_text(const std::map<std::string, LayerBits>& layers);

}  // namespace nibble::inline quantization
