// SPDX-License-Identifier: Apache-2.0
// Tells PNG from JPEG, and grey from colours.
#include "data/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/file_bytes.h"
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

[[noreturn]] void refuse(std::span<const std::byte> bytes, const std::string& name) {
  std::string start;
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 4))) {
    start += fmt::format("{}{:02x}", start.empty() ? "" : " ", std::to_integer<unsigned>(byte));
  }
  throw Error("read_picture", name + ": first bytes", start.empty() ? "none" : start,
              "89 50 4e 47 (PNG) or ff d8 ff (JPEG)", ErrorKind::input);
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

Tensor with_channels(Tensor picture, std::int64_t channels) {
  const Shape& shape = picture.shape();
  const bool is_known = shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3);
  if (!is_known)
    throw Error("with_channels", "picture", shape.to_string(), "(h, w, 1) or (h, w, 3)");
  if (channels != 1 && channels != 3)
    throw Error("with_channels", "channels", std::to_string(channels), "1 or 3");
  if (shape[2] == channels) return picture;
  Tensor result(DType::u8, {shape[0], shape[1], channels});
  const auto from = std::as_const(picture).as<std::uint8_t>();
  const auto to = result.as<std::uint8_t>();
  if (channels == 3) {
    for (std::size_t i = 0; i < from.size(); ++i) std::fill_n(to.begin() + 3 * i, 3, from[i]);
    return result;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::uint32_t sum =
        19595U * from[3 * i] + 38470U * from[3 * i + 1] + 7471U * from[3 * i + 2];
    to[i] = static_cast<std::uint8_t>((sum + 0x8000U) >> 16);
  }
  return result;
}

}  // namespace nibble::inline data
