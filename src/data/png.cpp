// SPDX-License-Identifier: Apache-2.0
// libpng behind decode_png and encode_png. When reading its errors jump: between setjmp and longjmp
// nothing needs a destructor.
#include "data/picture_codecs.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "data/picture.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

struct PngReader {
  explicit PngReader(std::span<const std::byte> bytes) : rest(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  std::span<const std::byte> rest;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump = {};
  std::array<char, 128> why = {};
};

extern "C" {

[[noreturn]] static void png_failed(png_structp png, png_const_charp text) {
  auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader.why.data(), text, reader.why.size() - 1);
  std::longjmp(reader.jump, 1);
}

static void png_warned(png_structp, png_const_charp) {}

static void png_take(png_structp png, png_bytep out, std::size_t size) {
  auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader.rest.size()) png_error(png, "truncated file");
  std::memcpy(out, reader.rest.data(), size);
  reader.rest = reader.rest.subspan(size);
}

}  // extern "C"

// Up to the pixels; afterwards rows come as 8-bit grey or RGB.
bool read_header(PngReader& reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, png_failed, png_warned);
  if (reader.png == nullptr) return false;
  if (setjmp(reader.jump) != 0) return false;
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) png_error(reader.png, "out of memory");
  png_set_read_fn(reader.png, &reader, png_take);
  png_set_user_limits(reader.png, kMostPictureSide, kMostPictureSide);
  // Text, profiles and the like are neither needed nor unpacked.
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(reader.png, reader.info);
  png_set_palette_to_rgb(reader.png);
  png_set_expand_gray_1_2_4_to_8(reader.png);
  png_set_scale_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_pixels(PngReader& reader, png_bytepp rows) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void fail(const PngReader& reader, const std::string& name) {
  throw Error("read_png", fmt::format("{}: broken PNG: {}", name, reader.why.data()),
              ErrorKind::input);
}

Shape read_shape(PngReader& reader, const std::string& name) {
  if (!read_header(reader)) fail(reader, name);
  const std::int64_t height = png_get_image_height(reader.png, reader.info);
  const std::int64_t width = png_get_image_width(reader.png, reader.info);
  const std::int64_t channels = png_get_channels(reader.png, reader.info);
  if (height * width > kMostPicturePixels) {
    throw Error("read_png", name + ": pixels", fmt::format("{}x{}", height, width),
                fmt::format("at most {}", kMostPicturePixels), ErrorKind::limit);
  }
  return Shape{height, width, channels};
}

}  // namespace

bool can_read_png() {
  return true;
}

Shape png_shape(std::span<const std::byte> bytes, const std::string& name) {
  PngReader reader(bytes);
  return read_shape(reader, name);
}

Tensor decode_png(std::span<const std::byte> bytes, const std::string& name) {
  PngReader reader(bytes);
  const Shape shape = read_shape(reader, name);
  const auto height = static_cast<std::size_t>(shape[0]);
  const auto row_bytes = static_cast<std::size_t>(shape[1] * shape[2]);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes) {
    throw Error("read_png", name + ": bytes of a row",
                std::to_string(png_get_rowbytes(reader.png, reader.info)),
                std::to_string(row_bytes), ErrorKind::input);
  }
  Tensor picture(DType::u8, shape);
  std::vector<png_bytep> rows(height);
  std::uint8_t* pixels = picture.as<std::uint8_t>().data();
  for (std::size_t y = 0; y < height; ++y) rows[y] = pixels + y * row_bytes;
  if (!read_pixels(reader, rows.data())) fail(reader, name);
  return picture;
}

std::vector<std::byte> encode_png(const std::uint8_t* pixels, const Shape& shape) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(shape[0]);
  image.width = static_cast<png_uint_32>(shape[1]);
  image.format = shape[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels, 0, nullptr) == 0)
    throw Error("write_png", image.message, ErrorKind::system);
  file.resize(size);
  return file;
}

}  // namespace nibble::inline data
