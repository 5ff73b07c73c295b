// SPDX-License-Identifier: Apache-2.0
// The options that round and encode share, and the arrays that the verbs read.
#include "apps/nibble/rounding_flags.h"

#include <algorithm>
#include <CLI/CLI.hpp>
#include <limits>
#include <span>

#include "core/half.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"
#include "tasks/shared_options.h"

namespace nibble {
namespace {

// Of a stream and of a step.
constexpr std::uint64_t kMostPlace = std::numeric_limits<std::uint32_t>::max();

template <float (*widen)(std::uint16_t)>
Tensor widened(const Tensor& tensor) {
  Tensor result(DType::f32, tensor.shape());
  const auto* from = reinterpret_cast<const std::uint16_t*>(tensor.data());
  std::transform(from, from + tensor.elements(), result.as<float>().begin(), widen);
  return result;
}

}  // namespace

CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed) {
  return verb.add_option("--seed", seed, "key of stochastic rounding (default 0)")
      ->type_name("N")
      ->transform(whole_number());
}

void add_rounding_flags(CLI::App& verb, RoundingFlags& flags) {
  verb.add_option("--to", flags.format, "the format, e.g. e4m3, 'fixed(8,4)', mxfp4")
      ->required()
      ->type_name("FORMAT");
  verb.add_option("--rounding", flags.rounding,
                  "nearest-even (default), nearest-away, toward-zero, up, down, to-odd,\n"
                  "stochastic or 'stochastic(r)' with r random bits")
      ->type_name("NAME");
  verb.add_option("--overflow", flags.overflow, "native (default), saturate, infinity or nan")
      ->type_name("RULE");
  flags.random_options = {add_seed(verb, flags.random.seed),
                          verb.add_option("--stream", flags.random.stream, "its stream (default 0)")
                              ->type_name("N")
                              ->transform(whole_number(0, kMostPlace)),
                          verb.add_option("--step", flags.random.step, "its step (default 0)")
                              ->type_name("N")
                              ->transform(whole_number(0, kMostPlace))};
  verb.add_option("--compat", flags.compat,
                  "another package's arithmetic: none (default), qtorch, qtorch-bits, qtorch+")
      ->type_name("NAME");
  verb.add_option("--scales", flags.scales,
                  "fp32 scales for a format with given ones: one, or one an index of its axis")
      ->type_name("S.npy");
  verb.add_option("--zeros", flags.zeros, "int32 zero points beside the scales")
      ->type_name("Z.npy");
}

QuantizeOptions options_of(const RoundingFlags& flags, const Format& format) {
  QuantizeOptions options;
  options.rounding = parse_rounding(flags.rounding);
  for (const CLI::Option* each : flags.random_options) {
    if (each->count() > 0 && !options.rounding.is_stochastic())
      throw CLI::ValidationError(each->get_name(), "is an option of --rounding stochastic");
  }
  options.overflow = parse_overflow(flags.overflow);
  options.compat = parse_compat(flags.compat);
  options.random = flags.random;
  check_combination(format, options.rounding, options.overflow);
  if (!flags.scales.empty()) {
    const Tensor scales = read_floats(flags.scales);
    options.scales.assign(scales.as<float>().begin(), scales.as<float>().end());
  }
  if (!flags.zeros.empty()) {
    const Tensor zeros = read_integers(flags.zeros);
    options.zeros.assign(zeros.as<std::int32_t>().begin(), zeros.as<std::int32_t>().end());
  }
  return options;
}

Tensor read_floats(const std::string& path) {
  Tensor tensor = read_npy(path);
  switch (tensor.dtype()) {
    case DType::f32:
      return tensor;
    case DType::f16:
      return widened<float_from_half>(tensor);
    case DType::bf16:
      return widened<float_from_bfloat>(tensor);
    default:
      throw Error("read", path + ": element type", name_of(tensor.dtype()), "f32, f16 or bf16",
                  ErrorKind::input);
  }
}

Tensor read_integers(const std::string& path) {
  Tensor tensor = read_npy(path);
  if (tensor.dtype() == DType::i32) return tensor;
  if (tensor.dtype() != DType::i64) {
    throw Error("read", path + ": element type", name_of(tensor.dtype()), "i32 or i64",
                ErrorKind::input);
  }
  Tensor result(DType::i32, tensor.shape());
  const std::span<const std::int64_t> from = std::as_const(tensor).as<std::int64_t>();
  std::transform(from.begin(), from.end(), result.as<std::int32_t>().begin(), [&](std::int64_t n) {
    if (n < std::numeric_limits<std::int32_t>::min() ||
        n > std::numeric_limits<std::int32_t>::max()) {
      throw Error("read", path + ": integer", std::to_string(n), "32 bits", ErrorKind::input);
    }
    return static_cast<std::int32_t>(n);
  });
  return result;
}

}  // namespace nibble
