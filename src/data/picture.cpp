// SPDX-License-Identifier: Apache-2.0
// Tells PNG from JPEG.
#include "nibble/data/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/file_bytes.h"
#include "data/jpeg.h"
#include "data/png.h"
#include "nibble/core/error.h"

namespace nibble {
namespace {

[[noreturn]] void refuse(std::span<const std::byte> bytes, const std::string& name) {
  std::string start;
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 4))) {
    start += fmt::format("{}{:02x}", start.empty() ? "" : " ", std::to_integer<unsigned>(byte));
  }
  throw Error("read_picture", name + ": first bytes", start.empty() ? "none" : start,
              "89 50 4e 47 (PNG) or ff d8 ff (JPEG)");
}

}  // namespace

Tensor decode_picture(std::span<const std::byte> bytes, const std::string& name) {
  if (is_png(bytes)) return decode_png(bytes, name);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name);
  refuse(bytes, name);
}

Shape picture_shape(std::span<const std::byte> bytes, const std::string& name) {
  if (is_png(bytes)) return png_shape(bytes, name);
  if (is_jpeg(bytes)) return jpeg_shape(bytes, name);
  refuse(bytes, name);
}

Tensor read_picture(const std::filesystem::path& path) {
  return decode_picture(read_file_bytes(path, "read_picture"), path.string());
}

}  // namespace nibble
