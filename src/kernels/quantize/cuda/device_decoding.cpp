// SPDX-License-Identifier: Apache-2.0
// Which codes are decoded by arithmetic: those whose every value it gives.
#include <bit>
#include <cmath>

#include "kernels/quantize/cuda/decode.h"
#include "numerics/float_codes.h"

namespace nibble::cuda {
namespace {

// Whether value(byte) is the table's for each code's byte but those that `is_special` leaves out.
template <class Value, class Special>
bool gives_values(const DecodeJob& job, const Value& value, const Special& is_special) {
  for (std::uint32_t code = 0; code < 1U << job.codes.bits; ++code) {
    const std::uint32_t byte = code << job.top_shift;
    if (is_special(byte)) continue;
    if (std::bit_cast<std::uint32_t>(value(byte)) != std::bit_cast<std::uint32_t>(job.values[code]))
      return false;
  }
  return true;
}

bool lower(DecodeJob& job, const FloatElement& f) {
  if (!f.is_signed || f.bias < 0 || f.bias > 253 || f.exponent_bits > 8) return false;
  FloatDecoding& p = job.floating;
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  p.shift = 8 - f.exponent_bits;
  p.kept = 0x80000000U | ((1U << magnitude_bits) - 1) << (23 - f.mantissa_bits);
  p.unit = std::ldexp(1.0F, 127 - f.bias);
  const std::uint32_t most = float_codes::max_magnitude(f) << job.top_shift;
  p.beyond = 0x01010101U * (0x7FU - most);
  const auto value = [&](std::uint32_t byte) {
    const auto top = static_cast<std::int32_t>(byte << 24);
    return std::bit_cast<float>(static_cast<std::uint32_t>(top >> p.shift) & p.kept) * p.unit;
  };
  return gives_values(job, value, [&](std::uint32_t byte) { return (byte & 0x7FU) > most; });
}

bool lower(DecodeJob& job, const GridElement& g) {
  GridDecoding& p = job.grid;
  p.flipped = g.lowest_n() < 0 ? 0x80808080U : 0;
  p.offset = 0x1p23F + (p.flipped != 0 ? 128.0F : 0.0F);
  p.step = static_cast<float>(g.step());
  p.unit = std::ldexp(p.step, -job.top_shift);
  const auto value = [&](std::uint32_t byte) {
    const std::uint32_t counted = 0x4B000000U | (byte ^ (p.flipped & 0xFFU));
    return (std::bit_cast<float>(counted) - p.offset) * p.unit;
  };
  return gives_values(job, value, [](std::uint32_t) { return false; });
}

bool lower(DecodeJob& job, const PositElement& e) {
  PositDecoding& p = job.posit;
  p.steps = 1U << e.exponent_bits;
  p.last = std::bit_cast<std::uint32_t>(64.0F) * p.steps;
  const auto value = [&](std::uint32_t byte) {
    const auto counted = static_cast<float>(static_cast<std::int8_t>(byte));
    const float beyond_one = std::fabs(counted) - 64;
    const std::uint32_t length =
        p.last - std::bit_cast<std::uint32_t>(64 - std::fabs(beyond_one)) * p.steps;
    const std::uint32_t magnitude = 0x3F800000U + (beyond_one < 0 ? 0U - length : length);
    return counted == 0 ? 0.0F : std::copysign(std::bit_cast<float>(magnitude), counted);
  };
  return gives_values(job, value, [](std::uint32_t byte) { return byte == 0x80U; });
}

}  // namespace

DecodeWay decode_way(DecodeJob& job) {
  if (job.element.family == ElementFamily::floating && lower(job, job.element.floating)) {
    return DecodeWay::floats;
  }
  if (job.element.family == ElementFamily::grid && lower(job, job.element.grid)) {
    return DecodeWay::grids;
  }
  if (job.element.family == ElementFamily::posit && lower(job, job.element.posit)) {
    return DecodeWay::posits;
  }
  return DecodeWay::table;
}

}  // namespace nibble::cuda
