// SPDX-License-Identifier: Apache-2.0
// Which codes are decoded by arithmetic: those whose every value it gives.
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/quantize/code_map.h"
#include "kernels/quantize/cuda/decoding.h"
#include "numerics/float_codes.h"

namespace nibble::cuda {
namespace {

// The field that a code stands at the top of.
struct Field {
  int bits;  // of the code
  int width;
  std::uint32_t each;  // 1 in each field of a word

  explicit Field(int code_bits)
      : bits(code_bits),
        width(code_bits <= 8 ? 8 : 16),
        each(width == 8 ? 0x01010101U : 0x00010001U) {}
  int top_shift() const { return width - bits; }
  std::uint32_t sign() const { return 1U << (width - 1); }
};

// Whether value(field) is that of each code but those that `is_special` leaves out.
template <class Value, class Special>
bool gives_values(const Field& field, std::span<const float> values, const Value& value,
                  const Special& is_special) {
  if (values.size() != std::size_t{1} << field.bits) return false;
  for (std::uint32_t code = 0; code < values.size(); ++code) {
    const std::uint32_t at = code << field.top_shift();
    if (is_special(at)) continue;
    if (std::bit_cast<std::uint32_t>(value(at)) != std::bit_cast<std::uint32_t>(values[code])) {
      return false;
    }
  }
  return true;
}

bool lower(const FloatElement& f, const Field& field, std::span<const float> values,
           FloatDecoding& p) {
  if (!f.is_signed || f.bias < 0 || f.bias > 253 || f.exponent_bits > 8) return false;
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  p.shift = 8 - f.exponent_bits;
  p.kept = 0x80000000U | ((1U << magnitude_bits) - 1) << (23 - f.mantissa_bits);
  p.unit = std::ldexp(1.0F, 127 - f.bias);
  const std::uint32_t magnitudes = field.sign() - 1;
  const std::uint32_t most = float_codes::max_magnitude(f) << field.top_shift();
  p.beyond = field.each * (magnitudes - most);
  const bool has_minus_zero = describe(f).has_negative_zero;
  p.lone_signs = has_minus_zero ? 0 : field.each * field.sign();
  return gives_values(
      field, values, [&](std::uint32_t at) { return decoded(p, at << (32 - field.width)); },
      [&](std::uint32_t at) {
        return (at & magnitudes) > most || (!has_minus_zero && at == field.sign());
      });
}

bool lower(const GridElement& g, const Field& field, std::span<const float> values,
           GridDecoding& p) {
  const std::uint32_t flipped = g.lowest_n() < 0 ? field.sign() : 0;
  p.flipped = field.each * flipped;
  p.offset = 0x1p23F + static_cast<float>(flipped);
  p.step = static_cast<float>(g.step());
  p.unit = std::ldexp(p.step, -field.top_shift());
  const auto value = [&](std::uint32_t at) {
    return decoded(p, std::bit_cast<float>(0x4B000000U | (at ^ flipped)), 0.0F);
  };
  return gives_values(field, values, value, [](std::uint32_t) { return false; });
}

bool lower(const PositElement& e, const Field& field, std::span<const float> values,
           PositDecoding& p) {
  p.steps = 1U << e.exponent_bits;
  p.one = static_cast<float>(field.sign() / 2);
  p.last = std::bit_cast<std::uint32_t>(p.one) * p.steps;
  const auto value = [&](std::uint32_t at) {
    const auto counted = static_cast<std::int32_t>(at << (32 - field.width)) >> (32 - field.width);
    return decoded(p, static_cast<float>(counted));
  };
  return gives_values(field, values, value, [&](std::uint32_t at) { return at == field.sign(); });
}

}  // namespace

Decoding decoding_of(const Element& element, int bits, std::span<const float> values) {
  const Field field(bits);
  Decoding d;
  d.top_shift = field.top_shift();
  d.tops = field.each * ((2 * field.sign() - 1) & ~0U << d.top_shift);
  d.way = bits <= 8 ? DecodeWay::table : DecodeWay::definition;
  if (const auto* f = std::get_if<FloatElement>(&element)) {
    if (lower(*f, field, values, d.floating)) d.way = DecodeWay::floats;
  } else if (const auto* g = std::get_if<GridElement>(&element)) {
    if (lower(*g, field, values, d.grid)) d.way = DecodeWay::grids;
  } else if (const auto* p = std::get_if<PositElement>(&element)) {
    if (lower(*p, field, values, d.posit)) d.way = DecodeWay::posits;
  }
  return d;
}

const KnownDecoding& known_decoding(const Element& element) {
  constexpr std::size_t kKept = 8;
  thread_local std::vector<std::pair<Element, KnownDecoding>> kept;
  for (const auto& [element_of, known] : kept) {
    if (element_of == element) return known;
  }
  KnownDecoding known;
  const ElementInfo info = describe(element);
  const auto codes = std::size_t{1} << info.code_bits;
  if (info.code_bits > 8) {
    const auto map = CodeMap::of(element);
    if (map != nullptr) known.decoding = decoding_of(element, info.code_bits, map->values());
  } else if (const auto map = CodeMap::make(element)) {
    known.has_nan = info.has_nan || map->values().size() < codes;
    known.values = map->values();
    known.values.resize(codes, std::numeric_limits<float>::quiet_NaN());
    known.decoding = decoding_of(element, info.code_bits, known.values);
  }
  if (kept.size() == kKept) kept.erase(kept.begin());
  return kept.emplace_back(element, std::move(known)).second;
}

}  // namespace nibble::cuda
