// SPDX-License-Identifier: Apache-2.0
// Takes the place of reader and writer in a build without protobuf and libonnx: both refuse.
#include "nibble/core/error.h"
#include "nibble/foreign/onnx.h"

namespace nibble::inline foreign {

bool can_read_onnx() {
  return false;
}

Model read_onnx(const std::filesystem::path& path, std::vector<std::string>*) {
  throw Error("read_onnx", path.string() + ": this build has no libonnx", ErrorKind::system);
}

Model parse_onnx(std::span<const std::byte>, const std::string& name) {
  throw Error("read_onnx", name + ": this build has no libonnx", ErrorKind::system);
}

void write_onnx(const Model&, const std::filesystem::path& path) {
  throw Error("write_onnx", path.string() + ": this build has no libonnx", ErrorKind::system);
}

}  // namespace nibble::inline foreign
