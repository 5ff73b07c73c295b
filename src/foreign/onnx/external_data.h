// SPDX-License-Identifier: Apache-2.0
// Tensors whose bytes lie in a file beside the model.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace nibble::inline foreign {

class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The bytes of a tensor that needs `size` of them. Locations that leave the folder, by their name
  // or by a link, are refused; an empty folder refuses all. So is more than a file holds, of all
  // tensors that name it together: they would cost more than what lies on the disk.
  std::string read(const onnx::TensorProto& proto, std::size_t size);

 private:
  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::uint64_t> taken_;  // bytes
};

}  // namespace nibble::inline foreign
