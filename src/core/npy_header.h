// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file as the reader and the writer of whole files need it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "nibble/core/npy.h"

namespace nibble::inline core {

struct NpyPreamble {
  std::size_t text_offset = 0;
  std::size_t header_end = 0;  // as far as the bytes seen so far tell; grows with them
};

// Magic, version and header length, as far as `bytes` reaches.
NpyPreamble parse_npy_preamble(std::span<const std::byte> bytes, const std::string& name);

// A whole version 1.0 header in C order, padded so that the data is 64-byte aligned.
std::string npy_header_text(DType dtype, const Shape& shape);

}  // namespace nibble::inline core
