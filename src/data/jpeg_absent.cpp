// SPDX-License-Identifier: Apache-2.0
// Takes the place of jpeg.cpp in a build without libjpeg: JPEG files are recognized and refused.
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

namespace nibble::inline data {

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

}  // namespace nibble::inline data
