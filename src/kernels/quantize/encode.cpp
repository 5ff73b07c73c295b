// SPDX-License-Identifier: Apache-2.0
// Arrays to codes and back.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "core/isa.h"
#include "kernels/quantize/check_call.h"
#include "kernels/quantize/code_map.h"
#include "kernels/quantize/codes.h"
#include "kernels/quantize/group_scales.h"
#include "kernels/quantize/quantize_paths.h"
#include "kernels/quantize/widening.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/quantize.h"
#include "numerics/scaled.h"

namespace nibble::inline kernels {
namespace {

constexpr std::size_t kCodesAtOnce = std::size_t{1} << 14;

std::size_t group_index(const Grouping& grouping, std::size_t element) {
  return static_cast<std::size_t>(grouping.group_of(static_cast<std::int64_t>(element)));
}

void refuse_nans(std::span<const float> values, const Format& format) {
  if (describe(format.element).has_nan) return;
  std::atomic<std::int64_t> nans{0};
  parallel_for(values.size(), kCodesAtOnce, [&](std::size_t begin, std::size_t end) {
    std::uint32_t own = 0;
    for (std::size_t i = begin; i < end; ++i) own += std::isnan(values[i]) ? 1U : 0U;
    nans += own;
  });
  if (nans == 0) return;
  throw Error("encode", "NaN in the input of " + to_string(format) + ", which has no code for it",
              std::to_string(nans), "none");
}

template <class Codes>
void encode_by_definition(std::span<const float> values, const Format& format,
                          const Grouping& grouping, const GroupScales& scales,
                          const QuantizeOptions& options, Codes codes) {
  parallel_for(values.size(), kCodesAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const GroupScale& group = scales.groups[group_index(grouping, i)];
      const ScaledValue rounded =
          round_scaled(format, group, static_cast<double>(values[i]), options.rounding,
                       options.overflow, draw_of(options, i));
      codes[i] =
          static_cast<typename Codes::value_type>(encode_scaled(format, group, rounded.element));
    }
  });
}

// Whether quantize's v = fl32(q · scale) says what q was: dividing again and rounding to nearest
// gives it back where steps are far wider than the two roundings and nothing is subnormal.
bool values_say_elements(const Format& format, const GroupScales& scales) {
  const ElementInfo info = describe(format.element);
  const bool is_exact = format.scaling.kind == ScaleKind::power_of_two;
  const double least = is_exact ? 0x1p-149 : 0x1p-126;
  if (format.scaling.kind == ScaleKind::none) return true;
  double smallest = info.min_positive;
  if (const auto* table = std::get_if<CodebookElement>(&format.element)) {
    for (std::size_t i = 0; i + 1 < table->values.size(); ++i) {
      const double gap =
          static_cast<double>(table->values[i + 1]) - static_cast<double>(table->values[i]);
      const double width = std::max(std::fabs(static_cast<double>(table->values[i])),
                                    std::fabs(static_cast<double>(table->values[i + 1])));
      if (gap < 0x1p-16 * width) return false;
      smallest = std::min(smallest, gap);
    }
  }
  return std::all_of(scales.groups.begin(), scales.groups.end(), [&](const GroupScale& group) {
    return group.scale == 0 || smallest * static_cast<double>(group.scale) >= least;
  });
}

// Calls body(begin, end, group) for the runs of [begin, end) that share a scale.
template <class Body>
void over_runs(const Grouping& grouping, const std::vector<GroupScale>& groups, std::size_t begin,
               std::size_t end, const Body& body) {
  while (begin < end) {
    const auto element = static_cast<std::int64_t>(begin);
    const std::size_t stop = std::min(end, static_cast<std::size_t>(grouping.run_end(element)));
    body(begin, stop, groups[group_index(grouping, begin)]);
    begin = stop;
  }
}

// Whether quantize's v is finite wherever the element is.
bool stays_finite(const Format& format, const GroupScales& scales) {
  const ElementInfo info = describe(format.element);
  const double most = std::max(info.max, -info.lowest);
  return std::all_of(scales.groups.begin(), scales.groups.end(), [&](const GroupScale& group) {
    return most * static_cast<double>(group.scale) <= std::numeric_limits<float>::max();
  });
}

// What v times, or divided by, the scale is in the element: exactly, or next to it.
void unscale(const Format& format, const GroupScale& group, std::span<float> values) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  const float zero = grid == nullptr ? 0.0F : static_cast<float>(group.zero * grid->step());
  if (format.scaling.kind != ScaleKind::none && group.scale != 0) {
    const float inverse = 1 / group.scale;
    if (format.scaling.kind == ScaleKind::power_of_two && std::isfinite(inverse)) {
      for (float& each : values) each *= inverse;
    } else {
      for (float& each : values) each /= group.scale;
    }
  }
  if (zero != 0)
    for (float& each : values) each += zero;
}

// By the vector kernels, a piece at a time: round, take the scale off, find the codes.
template <class Codes>
bool encode_pieces(std::span<const float> values, const CodeMap& map, const Format& format,
                   const Grouping& grouping, const GroupScales& scales,
                   const QuantizeOptions& options, Codes codes) {
  const ScaleKind kind = format.scaling.kind;
  const bool is_exact = kind == ScaleKind::none || kind == ScaleKind::power_of_two;
  if (!(is_exact || map.takes_neighbors()) || !stays_finite(format, scales)) return false;
  const auto& [isa, kernels] = best_path(kQuantizePaths, active_isa());
  if (kernels == nullptr || values.empty()) return false;
  const auto body = [&](std::span<float> piece, std::size_t first) {
    over_runs(grouping, scales.groups, first, first + piece.size(),
              [&](std::size_t begin, std::size_t end, const GroupScale& group) {
                unscale(format, group, piece.subspan(begin - first, end - begin));
              });
    map.write_codes(piece.data(), piece.size(), codes.data() + first);
  };
  if (!round_pieces_by_kernels(values, format, grouping, options, *kernels, body)) return false;
  report_isa_used(isa);
  return true;
}

// Round all, divide by the scale again and round once more, look the codes up.
template <class Codes>
void encode_by_map(ConstTensorView input, std::span<const float> values, const CodeMap& map,
                   const Format& format, const Grouping& grouping, const GroupScales& scales,
                   const QuantizeOptions& options, Codes codes) {
  Tensor elements(DType::f32, input.shape());
  quantize(input, elements.view(), format, options);
  const std::span<float> q = elements.as<float>();
  if (format.scaling.kind != ScaleKind::none) {
    parallel_for(q.size(), kCodesAtOnce, [&](std::size_t begin, std::size_t end) {
      over_runs(grouping, scales.groups, begin, end,
                [&](std::size_t i, std::size_t stop, const GroupScale& group) {
                  for (; i < stop; ++i) {
                    // An infinite product does not say whether the element was infinite too.
                    if (std::isinf(q[i])) {
                      q[i] = static_cast<float>(
                          round_scaled(format, group, static_cast<double>(values[i]),
                                       options.rounding, options.overflow, draw_of(options, i))
                              .element);
                    } else if (group.scale != 0) {
                      q[i] /= group.scale;
                    }
                  }
                });
    });
    Element plain = format.element;
    if (auto* grid = std::get_if<GridElement>(&plain)) grid->clamps = false;
    quantize(elements.view(), elements.view(), {plain, {}}, {.overflow = options.overflow});
  }
  const auto* grid = std::get_if<GridElement>(&format.element);
  const float step = grid == nullptr ? 0.0F : static_cast<float>(grid->step());
  parallel_for(q.size(), kCodesAtOnce, [&](std::size_t begin, std::size_t end) {
    over_runs(grouping, scales.groups, begin, end,
              [&](std::size_t i, std::size_t stop, const GroupScale& group) {
                const float zero = static_cast<float>(group.zero) * step;
                for (; i < stop; ++i) {
                  const float element = grid == nullptr ? q[i] : q[i] + zero;
                  codes[i] = static_cast<typename Codes::value_type>(map.code_of(element));
                }
              });
  });
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
  // Given zero points may be the format's own; those of the data may not be lost.
  const bool reads_zeros = has_zeros(format) && (encoded.zeros.elements() > 0 ||
                                                 format.scaling.kind == ScaleKind::minmax);
  if (reads_zeros) check_count(encoded.zeros, "number of zero points");
  std::vector<GroupScale> result(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    result[g].scale = encoded.scales.as<float>()[g];
    if (format.scaling.kind == ScaleKind::two_level) result[g].scale *= encoded.tensor_scale;
    result[g].zero = reads_zeros ? encoded.zeros.as<std::int32_t>()[g] : format.scaling.zero;
  }
  return result;
}

template <class Codes>
void decode_by_map(Codes codes, const CodeMap& map, const Format& format, const Grouping& grouping,
                   const std::vector<GroupScale>& groups, std::span<float> result) {
  const std::vector<float>& values = map.values();
  const auto* grid = std::get_if<GridElement>(&format.element);
  const float step = grid == nullptr ? 0.0F : static_cast<float>(grid->step());
  const bool is_whole = values.size() > std::numeric_limits<typename Codes::value_type>::max();
  parallel_for(codes.size(), kCodesAtOnce, [&](std::size_t begin, std::size_t end) {
    const auto unknown = [&](std::uint32_t code) { return code >= values.size(); };
    if (!is_whole) {
      for (const auto code : codes.subspan(begin, end - begin))
        if (unknown(code)) decode_code(format.element, code);  // throws
    }
    over_runs(grouping, groups, begin, end,
              [&](std::size_t i, std::size_t stop, const GroupScale& group) {
                const float zero = static_cast<float>(group.zero) * step;
                const float scale = format.scaling.kind == ScaleKind::none ? 1.0F : group.scale;
                for (; i < stop; ++i) result[i] = (values[codes[i]] - zero) * scale;
              });
  });
}

template <class Value>
void decode_by_definition(const Encoded& encoded, const Format& format, const Grouping& grouping,
                          const std::vector<GroupScale>& groups, std::span<Value> result) {
  with_codes(encoded.codes, [&](auto codes) {
    parallel_for(codes.size(), kCodesAtOnce, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        result[i] =
            static_cast<Value>(decode_scaled(format, groups[group_index(grouping, i)], codes[i]));
    });
  });
}

}  // namespace

Encoded encode(ConstTensorView input, const Format& format, const QuantizeOptions& options) {
  check_encodable(format, options);
  Tensor widened;
  const std::span<const float> values = as_floats(input, widened);
  refuse_nans(values, format);
  const Grouping grouping = grouping_of(input.shape(), format.scaling);
  const GroupScales scales = group_scales(values, format, grouping, options);

  Encoded encoded;
  encoded.tensor_scale = scales.tensor_scale;
  encoded.codes = Tensor(code_type(describe(format.element).code_bits), input.shape());
  with_codes(encoded.codes, [&](auto codes) {
    const auto map = active_isa() == Isa::reference ? nullptr : CodeMap::of(format.element);
    if (map && describe(format.element).quantizes_fp32 && values_say_elements(format, scales)) {
      if (!encode_pieces(values, *map, format, grouping, scales, options, codes))
        encode_by_map(input, values, *map, format, grouping, scales, options, codes);
    } else {
      encode_by_definition(values, format, grouping, scales, options, codes);
    }
  });
  if (format.scaling.kind == ScaleKind::none) return encoded;

  const Shape shape = grouping.scales_shape(input.shape(), format.scaling);
  encoded.scales = Tensor(DType::f32, shape);
  if (has_zeros(format)) encoded.zeros = Tensor(DType::i32, shape);
  for (std::size_t g = 0; g < scales.groups.size(); ++g) {
    encoded.scales.as<float>()[g] =
        scales.block_scales.empty() ? scales.groups[g].scale : scales.block_scales[g];
    if (has_zeros(format)) encoded.zeros.as<std::int32_t>()[g] = scales.groups[g].zero;
  }
  return encoded;
}

void decode(const Encoded& encoded, const Format& format, std::span<float> values) {
  const auto count = static_cast<std::size_t>(encoded.codes.elements());
  if (values.size() != count || !describe(format.element).decodes_to_fp32) {
    throw Error("decode", "memory for " + to_string(format),
                std::to_string(values.size()) + " fp32 values",
                std::to_string(count) + " of a format within fp32");
  }
  const Grouping grouping = grouping_of(encoded.codes.shape(), format.scaling);
  const std::vector<GroupScale> groups = stored_groups(encoded, format, grouping);
  if (const auto map = CodeMap::of(format.element)) {
    with_codes(encoded.codes,
               [&](auto codes) { decode_by_map(codes, *map, format, grouping, groups, values); });
  } else {
    decode_by_definition(encoded, format, grouping, groups, values);
  }
}

Tensor decode(const Encoded& encoded, const Format& format) {
  const bool is_fp32 = describe(format.element).decodes_to_fp32;
  Tensor result(is_fp32 ? DType::f32 : DType::f64, encoded.codes.shape());
  if (is_fp32) {
    decode(encoded, format, result.as<float>());
    return result;
  }
  const Grouping grouping = grouping_of(encoded.codes.shape(), format.scaling);
  decode_by_definition(encoded, format, grouping, stored_groups(encoded, format, grouping),
                       result.as<double>());
  return result;
}

}  // namespace nibble::inline kernels
