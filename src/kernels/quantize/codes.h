// SPDX-License-Identifier: Apache-2.0
// Codes travel in the narrowest unsigned type that holds them.
#pragma once

#include "nibble/core/error.h"
#include "nibble/core/tensor.h"
#include "nibble/numerics/format.h"

namespace nibble::inline kernels {

inline DType code_type(int bits) {
  if (bits <= 8) return DType::u8;
  return bits <= 16 ? DType::u16 : DType::u32;
}

// Whether codes come with zero points.
inline bool has_zeros(const Format& format) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  const ScaleKind kind = format.scaling.kind;
  return grid != nullptr && grid->is_integer &&
         (kind == ScaleKind::given || kind == ScaleKind::minmax);
}

// Calls body(span of the codes) with their own integer type.
template <class View, class Body>
void with_codes(View& codes, const Body& body) {
  switch (codes.dtype()) {
    case DType::u8:
      return body(codes.template as<std::uint8_t>());
    case DType::u16:
      return body(codes.template as<std::uint16_t>());
    case DType::u32:
      return body(codes.template as<std::uint32_t>());
    default:
      throw Error("decode", "type of the codes", name_of(codes.dtype()), "u8, u16 or u32");
  }
}

}  // namespace nibble::inline kernels
