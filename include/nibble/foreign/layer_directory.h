// SPDX-License-Identifier: Apache-2.0
// NVIDIA's layer directories: a quantized residual network as one text file a layer and its
// numbers.
#pragma once

#include <cstdint>
#include <filesystem>

#include "nibble/graph/network.h"

namespace nibble::inline foreign {

struct LayerDirectoryOptions {
  std::int64_t input_size = 224;  // rows and columns of a picture: the files do not say it
};

// Whether this is a folder with the file that stands for the whole network, `model`.
bool is_layer_directory(const std::filesystem::path& folder);

// The network on integers, exactly as the files have it; its logits are in units of 2^-16. Errors
// name file and line. Data files are looked for in the folder alone, whatever it is called now.
Model read_layer_directory(const std::filesystem::path& folder,
                           const LayerDirectoryOptions& options = {});

// The way back: the same files, byte for byte. Throws, naming the first node that the format cannot
// express. The folder appears whole or not at all; one that holds something is not touched.
void write_layer_directory(const Model& model, const std::filesystem::path& folder);

}  // namespace nibble::inline foreign
