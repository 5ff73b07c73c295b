// SPDX-License-Identifier: Apache-2.0
// Knows other kinds of files by their signatures.
#include "graph/foreign_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLooked = 512;

struct Signature {
  std::size_t at;
  std::string_view bytes;
  std::string_view kind;
  std::string_view advice;
};

constexpr std::string_view kConvert = "'nibble convert FILE MODEL.nib' makes one";
constexpr std::string_view kExport = "export the network as ONNX, which 'nibble convert' reads";
constexpr std::string_view kWeights = "'nibble convert FILE MODEL.nib --network NAME' makes one";
constexpr std::string_view kData = "pictures and arrays go to --input or --data";

using namespace std::string_view_literals;

constexpr std::array kSignatures = {
    Signature{0, "\x93NUMPY"sv, "an array (.npy)", kData},
    Signature{0, "\x89PNG\r\n"sv, "a picture (PNG)", kData},
    Signature{0, "\xff\xd8\xff"sv, "a picture (JPEG)", kData},
    Signature{0, "\x89HDF\r\n"sv, "an HDF5 file (Keras)", kExport},
    Signature{4, "TFL3"sv, "a TensorFlow Lite file", kExport},
    Signature{0,
              "\x7f"
              "ELF"sv,
              "a program", "name a model"},
    Signature{0, "\x1f\x8b"sv, "a gzip file", "unpack it first"},
};

std::string first_bytes(const fs::path& path) {
  std::string bytes(kLooked, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return bytes;
}

// The length of the header in eight bytes, and the header's first.
bool may_be_model(std::string_view bytes) {
  return bytes.size() > 8 && bytes[8] == '{';
}

// A message of protobuf: the version of its format, field 1, and the producer or a domain next.
bool may_be_onnx(std::string_view bytes) {
  return bytes.size() > 4 && bytes[0] == '\x08' && bytes[1] > 0 && bytes[1] < 32 &&
         (bytes[2] == '\x12' || bytes[2] == '\x1a' || bytes[2] == ':' || bytes[2] == 'B');
}

bool is_text(std::string_view bytes) {
  return !bytes.empty() && std::ranges::all_of(bytes, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

[[noreturn]] void refuse(const fs::path& path, std::string_view kind, std::string_view advice) {
  throw Error("read_model", path.string(), kind, fmt::format("a .nib model: {}", advice),
              ErrorKind::input);
}

}  // namespace

void refuse_foreign_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    refuse(path, "a folder", "name a file in it; of a layer directory " + std::string(kConvert));
  }
  if (!fs::is_regular_file(path, ignored)) return;
  const std::string bytes = first_bytes(path);
  if (may_be_model(bytes)) return;
  for (const Signature& each : kSignatures) {
    if (std::string_view(bytes).substr(0, each.at + each.bytes.size()).ends_with(each.bytes) &&
        bytes.size() >= each.at + each.bytes.size()) {
      refuse(path, each.kind, each.advice);
    }
  }
  const std::string ending = path.extension().string();
  if (bytes.starts_with("PK\x03\x04")) {
    const bool has_arrays = ending == ".npz";
    refuse(path, has_arrays ? "arrays (.npz)" : "a zip file (a checkpoint of PyTorch is one)",
           has_arrays ? kWeights : kExport);
  }
  if (ending == ".onnx" || may_be_onnx(bytes)) refuse(path, "an ONNX file", kConvert);
  if (ending == ".toml") refuse(path, "a file of text", "'nibble train' makes one of a network");
  if (is_text(bytes))
    refuse(path, "a file of text", "'nibble train' and 'nibble convert' make one");
}

}  // namespace nibble::inline graph
