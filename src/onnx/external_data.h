// SPDX-License-Identifier: Apache-2.0
// Tensors whose bytes lie in a file beside the model.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace nibble {

// The bytes of a tensor that needs `size` of them. Locations that leave the folder, by their name
// or by a link, are refused; an empty folder refuses all.
std::string read_external_data(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                               std::size_t size);

}  // namespace nibble
