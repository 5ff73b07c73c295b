// SPDX-License-Identifier: Apache-2.0
// Tensors of codes, packed.
#include <string>

#include "core/bit_packing.h"
#include "kernels/quantize/codes.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {
namespace {

void check_width(std::string_view op, int bits) {
  if (bits >= 1 && bits <= 32) return;
  throw Error(op, "bits of a code", std::to_string(bits), "1 to 32");
}

}  // namespace

std::vector<std::uint8_t> pack_codes(ConstTensorView codes, int bits) {
  check_width("pack", bits);
  const auto count = static_cast<std::size_t>(codes.elements());
  std::vector<std::uint8_t> packed(packed_bytes(count, bits));
  with_codes(codes, [&](auto span) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t code = span[i];
      if (bits < 32 && (code >> bits) != 0) {
        throw Error("pack", "code", std::to_string(code), "below 2^" + std::to_string(bits));
      }
      pack_code(packed, i, bits, code);
    }
  });
  return packed;
}

Tensor unpack_codes(const std::vector<std::uint8_t>& packed, int bits, const Shape& shape) {
  check_width("unpack", bits);
  const auto count = static_cast<std::size_t>(shape.elements());
  if (packed.size() != packed_bytes(count, bits)) {
    throw Error("unpack", "bytes of packed codes", std::to_string(packed.size()),
                std::to_string(packed_bytes(count, bits)));
  }
  Tensor codes(code_type(bits), shape);
  with_codes(codes, [&](auto span) {
    using Code = typename decltype(span)::value_type;
    for (std::size_t i = 0; i < count; ++i) {
      span[i] = static_cast<Code>(packed_code(packed, i, bits));
    }
  });
  return codes;
}

}  // namespace nibble::inline kernels
