// SPDX-License-Identifier: Apache-2.0
// Takes the place of png.cpp in a build without libpng: PNG files are recognized and refused.
#include "data/picture_codecs.h"
#include "nibble/core/error.h"

namespace nibble::inline data {

bool can_read_png() {
  return false;
}

Tensor decode_png(std::span<const std::byte>, const std::string& name) {
  throw Error("read_png", name + ": this build has no libpng", ErrorKind::system);
}

Shape png_shape(std::span<const std::byte>, const std::string& name) {
  throw Error("read_png", name + ": this build has no libpng", ErrorKind::system);
}

}  // namespace nibble::inline data
