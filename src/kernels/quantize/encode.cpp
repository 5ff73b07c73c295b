// SPDX-License-Identifier: Apache-2.0
// Arrays to codes and back.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/quantize/group_scales.h"
#include "kernels/quantize/reference.h"
#include "kernels/quantize/widening.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/quantize.h"
#include "numerics/scaled.h"

namespace nibble {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 14;

DType code_type(int bits) {
  if (bits <= 8) return DType::u8;
  return bits <= 16 ? DType::u16 : DType::u32;
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

std::size_t group_index(const Grouping& grouping, std::size_t element) {
  return static_cast<std::size_t>(grouping.group_of(static_cast<std::int64_t>(element)));
}

bool has_zeros(const Scaling& scaling) {
  return scaling.kind == ScaleKind::given || scaling.kind == ScaleKind::minmax;
}

void refuse_nans(std::span<const float> values, const Format& format) {
  const auto nans =
      std::count_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
  if (nans == 0 || describe(format.element).has_nan) return;
  throw Error("encode", "NaN in the input of " + to_string(format) + ", which has no code for it",
              std::to_string(nans), "none");
}

void check_width(std::string_view op, int bits) {
  if (bits >= 1 && bits <= 32) return;
  throw Error(op, "bits of a code", std::to_string(bits), "1 to 32");
}

std::vector<GroupScale> stored_groups(const Encoded& encoded, const Format& format,
                                      const Grouping& grouping) {
  const auto groups = static_cast<std::size_t>(grouping.groups());
  if (format.scaling.kind == ScaleKind::none) return {GroupScale{}};
  const auto check_count = [&](const Tensor& tensor, std::string_view what) {
    if (static_cast<std::size_t>(tensor.elements()) != groups) {
      throw Error("decode", what, std::to_string(tensor.elements()), std::to_string(groups));
    }
  };
  check_count(encoded.scales, "number of scales");
  if (has_zeros(format.scaling)) check_count(encoded.zeros, "number of zero points");
  std::vector<GroupScale> result(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    result[g].scale = encoded.scales.as<float>()[g];
    if (format.scaling.kind == ScaleKind::two_level) result[g].scale *= encoded.tensor_scale;
    if (has_zeros(format.scaling)) result[g].zero = encoded.zeros.as<std::int32_t>()[g];
  }
  return result;
}

}  // namespace

Encoded encode(ConstTensorView input, const Format& format, const QuantizeOptions& options) {
  check_combination(format, options.rounding, options.overflow);
  if (options.compat != Compat::none) {
    throw Error("encode", "compat mode", to_string(options.compat),
                "none: those packages have no codes");
  }
  if (const auto* grid = std::get_if<GridElement>(&format.element);
      grid != nullptr && !grid->clamps) {
    throw Error("encode", "format", to_string(format), "one that clamps: a code has a fixed width");
  }
  Tensor widened;
  const std::span<const float> values = as_floats(input, widened);
  refuse_nans(values, format);
  const Grouping grouping = grouping_of(input.shape(), format.scaling);
  const GroupScales scales = group_scales(values, format, grouping, options);

  Encoded encoded;
  encoded.tensor_scale = scales.tensor_scale;
  encoded.codes = Tensor(code_type(describe(format.element).code_bits), input.shape());
  const auto encode_all = [&](auto codes) {
    using Code = typename decltype(codes)::value_type;
    parallel_for(values.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const GroupScale& group = scales.groups[group_index(grouping, i)];
        const ScaledValue rounded =
            round_scaled(format, group, static_cast<double>(values[i]), options.rounding,
                         options.overflow, draw_of(options, i));
        codes[i] = static_cast<Code>(encode_scaled(format, group, rounded.element));
      }
    });
  };
  with_codes(encoded.codes, encode_all);
  if (format.scaling.kind == ScaleKind::none) return encoded;

  const Shape shape = grouping.scales_shape(input.shape(), format.scaling);
  encoded.scales = Tensor(DType::f32, shape);
  if (has_zeros(format.scaling)) encoded.zeros = Tensor(DType::i32, shape);
  for (std::size_t g = 0; g < scales.groups.size(); ++g) {
    encoded.scales.as<float>()[g] =
        scales.block_scales.empty() ? scales.groups[g].scale : scales.block_scales[g];
    if (has_zeros(format.scaling)) encoded.zeros.as<std::int32_t>()[g] = scales.groups[g].zero;
  }
  return encoded;
}

Tensor decode(const Encoded& encoded, const Format& format) {
  const ElementInfo info = describe(format.element);
  const Grouping grouping = grouping_of(encoded.codes.shape(), format.scaling);
  const std::vector<GroupScale> groups = stored_groups(encoded, format, grouping);
  Tensor result(info.decodes_to_fp32 ? DType::f32 : DType::f64, encoded.codes.shape());
  const auto decode_all = [&](auto codes) {
    const auto value = [&](std::size_t i) {
      return decode_scaled(format, groups[group_index(grouping, i)], codes[i]);
    };
    parallel_for(codes.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      if (info.decodes_to_fp32) {
        for (std::size_t i = begin; i < end; ++i)
          result.as<float>()[i] = static_cast<float>(value(i));
      } else {
        for (std::size_t i = begin; i < end; ++i) result.as<double>()[i] = value(i);
      }
    });
  };
  with_codes(encoded.codes, decode_all);
  return result;
}

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
