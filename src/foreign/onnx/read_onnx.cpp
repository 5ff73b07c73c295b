// SPDX-License-Identifier: Apache-2.0
// Reads ONNX files; the messages are protobuf's, all that they say is checked here.
#include "nibble/foreign/onnx.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "data/file_bytes.h"
#include "foreign/onnx/translation.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

Model parse(std::span<const std::byte> bytes, const std::string& source,
            const TranslateOptions& options) {
  try {
    onnx::ModelProto model;
    if (bytes.size() > std::numeric_limits<int>::max()) {
      throw Error("read_onnx", "size", fmt::format("{} bytes", bytes.size()),
                  "less than 2 GiB, tensors beside the file", ErrorKind::limit);
    }
    if (bytes.empty())
      throw Error("read_onnx", "file", "0 bytes", "an ONNX model", ErrorKind::input);
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      throw Error("read_onnx", "message", "broken or cut off", "an ONNX model", ErrorKind::input);
    }
    return translate(model, options);
  } catch (const Error& error) {
    throw Error("read_onnx", fmt::format("{}: {}", source, error.reason()), input_kind(error));
  }
}

}  // namespace

bool can_read_onnx() {
  return true;
}

Model read_onnx(const std::filesystem::path& path, std::vector<std::string>* notes) {
  const std::vector<std::byte> bytes = read_file_bytes(path, "read_onnx");
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return parse(
      bytes, path.string(),
      {.name = path.stem().string(), .folder = folder, .bytes = bytes.size(), .notes = notes});
}

Model parse_onnx(std::span<const std::byte> bytes, const std::string& name) {
  return parse(bytes, name, {.name = name, .bytes = bytes.size()});
}

}  // namespace nibble::inline foreign
