// SPDX-License-Identifier: Apache-2.0
// Takes the place of gunzip.cpp in a build without zlib: gzip data is recognized and refused.
#include "data/gunzip.h"
#include "nibble/core/error.h"

namespace nibble::inline data {

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

}  // namespace nibble::inline data
