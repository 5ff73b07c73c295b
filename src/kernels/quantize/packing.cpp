// SPDX-License-Identifier: Apache-2.0
// Codes of any width one after another, least significant bit first.
#include <string>

#include "kernels/quantize/codes.h"
#include "nibble/kernels/quantize.h"

namespace nibble {
namespace {

void check_width(std::string_view op, int bits) {
  if (bits >= 1 && bits <= 32) return;
  throw Error(op, "bits of a code", std::to_string(bits), "1 to 32");
}

}  // namespace

std::vector<std::uint8_t> pack_codes(ConstTensorView codes, int bits) {
  check_width("pack", bits);
  const auto count = static_cast<std::size_t>(codes.elements());
  const auto width = static_cast<std::size_t>(bits);
  std::vector<std::uint8_t> packed((count * width + 7) / 8);
  with_codes(codes, [&](auto span) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t code = span[i];
      if (bits < 32 && (code >> bits) != 0) {
        throw Error("pack", "code", std::to_string(code), "below 2^" + std::to_string(bits));
      }
      for (std::size_t b = 0; b < width; ++b) {
        const std::size_t at = i * width + b;
        packed[at / 8] = static_cast<std::uint8_t>(packed[at / 8] | (code >> b & 1U) << at % 8);
      }
    }
  });
  return packed;
}

Tensor unpack_codes(const std::vector<std::uint8_t>& packed, int bits, const Shape& shape) {
  check_width("unpack", bits);
  const auto count = static_cast<std::size_t>(shape.elements());
  const auto width = static_cast<std::size_t>(bits);
  if (packed.size() != (count * width + 7) / 8) {
    throw Error("unpack", "bytes of packed codes", std::to_string(packed.size()),
                std::to_string((count * width + 7) / 8));
  }
  Tensor codes(code_type(bits), shape);
  with_codes(codes, [&](auto span) {
    using Code = typename decltype(span)::value_type;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t code = 0;
      for (std::size_t b = 0; b < width; ++b) {
        const std::size_t at = i * width + b;
        code |= static_cast<std::uint32_t>(packed[at / 8] >> at % 8 & 1U) << b;
      }
      span[i] = static_cast<Code>(code);
    }
  });
  return codes;
}

}  // namespace nibble
