// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (versions 1.0, 2.0 and 3.0): read with suspicion, written beside and renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline core {

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;
  std::size_t data_offset = 0;
};

// Parses the header at the start of `bytes`; `name` is used in errors.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name);

// Little-endian C-order or Fortran-order files; the tensor is always row-major.
Tensor read_npy(const std::filesystem::path& path);  // "-" reads standard input
Tensor read_npy(std::istream& in, const std::string& name);

// Written to a temporary file in the same folder, then renamed: the old file stays whole until
// then.
void write_npy(const std::filesystem::path& path,
               ConstTensorView tensor);  // "-" writes standard output
// `name` is used in errors.
void write_npy(std::ostream& out, ConstTensorView tensor, const std::string& name = "an array");

}  // namespace nibble::inline core
