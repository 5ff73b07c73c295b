// SPDX-License-Identifier: Apache-2.0
// Takes the place of sources whose library a build lacks: what they read is recognized and refused.
#include "data/download.h"
#include "data/gunzip.h"
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

namespace nibble::inline data {

#ifndef NIBBLE_HAS_ZLIB

struct Gunzip::State {};

Gunzip::Gunzip(std::span<const std::byte>, const std::string& name) {
  throw Error("gunzip", name + ": this build has no zlib; unpack the file with gunzip",
              ErrorKind::system);
}

Gunzip::~Gunzip() = default;

std::size_t Gunzip::read(std::span<std::byte>) {
  return 0;
}

std::size_t Gunzip::most() const {
  return 0;
}

std::vector<std::byte> inflate_all(std::span<const std::byte>, std::size_t,
                                   const std::string& name) {
  throw Error("inflate", name + ": this build has no zlib; pack the arrays with numpy's savez",
              ErrorKind::system);
}

#endif

#ifndef NIBBLE_HAS_PNG

bool can_read_png() {
  return false;
}

Tensor decode_png(std::span<const std::byte>, const std::string& name) {
  throw Error("read_png", name + ": this build has no libpng", ErrorKind::system);
}

Shape png_shape(std::span<const std::byte>, const std::string& name) {
  throw Error("read_png", name + ": this build has no libpng", ErrorKind::system);
}

std::vector<std::byte> encode_png(const std::uint8_t*, const Shape&) {
  throw Error("write_png", "this build has no libpng", ErrorKind::system);
}

#endif

#ifndef NIBBLE_HAS_JPEG

bool can_read_jpeg() {
  return false;
}

Tensor decode_jpeg(std::span<const std::byte>, const std::string& name) {
  throw Error("read_jpeg", name + ": this build has no libjpeg", ErrorKind::system);
}

Shape jpeg_shape(std::span<const std::byte>, const std::string& name) {
  throw Error("read_jpeg", name + ": this build has no libjpeg", ErrorKind::system);
}

bool decode_jpeg_rows(std::span<const std::byte>, const std::string& name, const PictureWindow&,
                      const std::function<void(const std::uint8_t* pixels)>&) {
  throw Error("read_jpeg", name + ": this build has no libjpeg", ErrorKind::system);
}

#endif

#ifndef NIBBLE_HAS_CURL

bool has_http() {
  return false;
}

std::vector<std::byte> http_get(const HttpRequest& request) {
  throw Error("download", request.address + ": this build has no libcurl", ErrorKind::system);
}

#endif

}  // namespace nibble::inline data
