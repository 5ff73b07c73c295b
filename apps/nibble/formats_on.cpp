// SPDX-License-Identifier: Apache-2.0
// nibble formats --on: what formats do to one tensor, as a table.
#include "apps/nibble/formats_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "apps/nibble/rounding_flags.h"
#include "kernels/quantize/grouping.h"
#include "nibble/core/philox.h"
#include "nibble/kernels/quantize.h"
#include "tasks/json.h"

namespace nibble {
namespace {

const std::vector<std::string> kChoice = {"mxfp4",
                                          "nvfp4",
                                          "nf4",
                                          "int4(scale=absmax,block=32)",
                                          "mxfp6-e3m2",
                                          "mxfp6-e2m3",
                                          "e5m2",
                                          "e4m3",
                                          "e3m4",
                                          "int8(scale=absmax)",
                                          "fixed(8,4)",
                                          "mxfp8-e4m3",
                                          "bf16",
                                          "posit(8,1)",
                                          "bfp(8,block=32)",
                                          "fp16",
                                          "posit(16,2)"};

constexpr std::int64_t kSide = 1024;  // made tensors are square, so that axes mean something
constexpr std::uint32_t kDataStream = 0x64617461;  // stochastic rounding draws from stream 0

constexpr double kDbPerBit = 6.0206;  // 20·log10(2)
constexpr double kMostBits = 20;

struct Row {
  std::string name;
  Format format;
  double bits = 0;
  ErrorStatistics stats = {};
};

// The sum of 12 uniform numbers less 6 has mean 0 and variance 1 (Irwin-Hall). Here twice the sum
// of integers less its mean, exact: |n| < 12·2^32, so that only the conversion rounds.
float normal(const RandomKey& key, std::uint64_t element) {
  std::int64_t n = -12 * std::int64_t{0xffffffff};
  for (std::uint64_t part = 0; part < 3; ++part) {
    const std::uint64_t group = 3 * element + part;
    const PhiloxBlock draws = philox4x32_10(
        {static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32), key.step,
         key.stream},
        {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
    for (const std::uint32_t draw : draws) n += 2 * std::int64_t{draw};
  }
  return static_cast<float>(n) * 0x1p-33F;
}

float uniform(const RandomKey& key, std::uint64_t element) {
  return static_cast<float>(static_cast<std::int32_t>(draw32(key, element))) * 0x1p-31F;
}

Tensor make_tensor(float (*value)(const RandomKey&, std::uint64_t), std::uint64_t seed) {
  Tensor tensor(DType::f32, Shape{kSide, kSide});
  const RandomKey key{.seed = seed, .stream = kDataStream};
  std::uint64_t i = 0;
  for (float& x : tensor.as<float>()) x = value(key, i++);
  return tensor;
}

Tensor tensor_of(const FormatsOnOptions& options) {
  if (options.source == "normal") return make_tensor(normal, options.seed);
  if (options.source == "uniform") return make_tensor(uniform, options.seed);
  return read_floats(options.source);
}

// A code and its share of the scales; a scale written in the format itself costs nothing.
double bits_per_element(const Format& format, const Shape& shape) {
  const int code_bits = describe(format.element).code_bits;
  int group_bits = 0;
  int tensor_bits = 0;
  switch (format.scaling.kind) {
    case ScaleKind::none:
    case ScaleKind::given:
      break;
    case ScaleKind::power_of_two:
      group_bits = 8;
      break;
    case ScaleKind::absmax:
      group_bits = 32;
      break;
    case ScaleKind::minmax:
      group_bits = 32 + code_bits;
      break;
    case ScaleKind::two_level:
      group_bits = 8;
      tensor_bits = 32;
      break;
  }
  const auto groups = static_cast<double>(grouping_of(shape, format.scaling).groups());
  if (shape.elements() == 0) return code_bits;
  return code_bits + (group_bits * groups + tensor_bits) / static_cast<double>(shape.elements());
}

std::vector<Row> measure(const FormatsOnOptions& options, const Tensor& input) {
  std::vector<Row> rows;
  for (const std::string& name : options.formats.empty() ? kChoice : options.formats) {
    rows.push_back({.name = name, .format = parse_format(name)});
  }
  Tensor output(DType::f32, input.shape());
  RoundingFlags flags;
  flags.rounding = options.rounding;
  flags.random.seed = options.seed;
  for (Row& row : rows) {
    const QuantizeOptions quantize_options = options_of(flags, row.format);
    quantize(input.view(), output.view(), row.format, quantize_options);
    row.stats =
        error_statistics(input.view(), std::as_const(output).view(), row.format, quantize_options);
    row.bits = bits_per_element(row.format, input.shape());
  }
  // Bits as printed, so that the scale of a whole tensor does not decide; the better one first.
  const auto order = [](const Row& row) {
    const double db = row.stats.sqnr_db;
    return std::tuple(std::lround(100 * row.bits), std::isnan(db) ? INFINITY : -db);
  };
  std::ranges::stable_sort(rows, {}, order);
  return rows;
}

std::string bar(double db) {
  constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double bits = std::isnan(db) ? 0 : std::clamp(db / kDbPerBit, 0.0, kMostBits);
  const auto eighths = static_cast<std::size_t>(std::lround(8 * bits));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

std::string source_text(const FormatsOnOptions& options) {
  if (options.source == "normal")
    return fmt::format("roughly normal, variance 1, seed {}", options.seed);
  if (options.source == "uniform")
    return fmt::format("uniform from -1 to 1, seed {}", options.seed);
  return options.source == "-" ? "standard input" : options.source;
}

void print_table(const FormatsOnOptions& options, const std::vector<Row>& rows) {
  const ErrorStatistics& any = rows.front().stats;
  std::size_t width = std::string_view("format").size();
  for (const Row& row : rows) width = std::max(width, row.name.size());
  fmt::print("{} numbers: {}; rounding {}\n", any.elements, source_text(options),
             to_string(parse_rounding(options.rounding)));
  if (any.non_finite > 0) fmt::print("{} of them are not finite and left out\n", any.non_finite);
  fmt::print("{:<{}}  {:>5} {:>9} {:>10} {:>7} {:>7} {:>7}  █ = 6 dB, one bit\n", "format", width,
             "bits", "max error", "mean error", "satur.", "flushed", "SQNR dB");
  for (const Row& row : rows) {
    const ErrorStatistics& s = row.stats;
    fmt::print("{:<{}}  {:>5.2f} {:>9.3g} {:>10.1e} {:>6.2f}% {:>6.2f}% {:>7.1f}  {}\n", row.name,
               width, row.bits, s.max_abs_error, s.mean_error, 100 * s.share_saturated,
               100 * s.share_flushed, s.sqnr_db, bar(s.sqnr_db));
  }
}

void print_json(const FormatsOnOptions& options, const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    const ErrorStatistics& s = row.stats;
    list.push_back({{"name", row.name},
                    {"format", to_string(row.format)},
                    {"bits_per_element", row.bits},
                    {"sqnr_db", json_number(s.sqnr_db)},
                    {"max_abs_error", json_number(s.max_abs_error)},
                    {"mean_abs_error", json_number(s.mean_abs_error)},
                    {"mean_error", json_number(s.mean_error)},
                    {"share_saturated", json_number(s.share_saturated)},
                    {"share_flushed", json_number(s.share_flushed)}});
  }
  const Json json = {{"on", options.source},
                     {"elements", rows.front().stats.elements},
                     {"non_finite", rows.front().stats.non_finite},
                     {"rounding", to_string(parse_rounding(options.rounding))},
                     {"seed", options.seed},
                     {"formats", list}};
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void print_formats_on(const FormatsOnOptions& options) {
  const std::vector<Row> rows = measure(options, tensor_of(options));
  if (options.is_json) {
    print_json(options, rows);
  } else {
    print_table(options, rows);
  }
}

}  // namespace nibble
