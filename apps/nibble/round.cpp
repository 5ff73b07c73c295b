// SPDX-License-Identifier: Apache-2.0
// nibble round: an array rounded to a format, still fp32; or one number and its code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/nibble/rounding_flags.h"
#include "apps/nibble/verb.h"
#include "nibble/core/npy.h"
#include "nibble/kernels/quantize.h"
#include "tasks/json.h"

namespace nibble {
namespace {

struct RoundFlags {
  RoundingFlags rounding;
  std::string input;
  std::string output;
  float value = 0;
  bool has_stats = false;
  bool is_json = false;
};

void print_statistics_table(std::FILE* out, const std::string& format, const ErrorStatistics& s) {
  fmt::print(out, "format           {}\n", format);
  fmt::print(out, "elements         {}\n", s.elements);
  fmt::print(out, "not finite       {}\n", s.non_finite);
  fmt::print(out, "SQNR             {:.4g} dB\n", s.sqnr_db);
  fmt::print(out, "largest |error|  {:.6g}\n", s.max_abs_error);
  fmt::print(out, "mean |error|     {:.6g}\n", s.mean_abs_error);
  fmt::print(out, "mean error       {:.6g}\n", s.mean_error);
  fmt::print(out, "saturated        {:.4g} %\n", 100 * s.share_saturated);
  fmt::print(out, "flushed to zero  {:.4g} %\n", 100 * s.share_flushed);
}

void print_statistics_json(std::FILE* out, const std::string& format, const ErrorStatistics& s) {
  const Json json = {{"format", format},
                     {"elements", s.elements},
                     {"non_finite", s.non_finite},
                     {"sqnr_db", json_number(s.sqnr_db)},
                     {"max_abs_error", json_number(s.max_abs_error)},
                     {"mean_abs_error", json_number(s.mean_abs_error)},
                     {"mean_error", json_number(s.mean_error)},
                     {"share_saturated", json_number(s.share_saturated)},
                     {"share_flushed", json_number(s.share_flushed)}};
  fmt::print(out, "{}\n", json.dump(2));
}

void run(const RoundFlags& flags) {
  const Format format = parse_format(flags.rounding.format);
  const QuantizeOptions options = options_of(flags.rounding, format);
  const Tensor input = read_floats(flags.input);
  Tensor output(DType::f32, input.shape());
  quantize(input.view(), output.view(), format, options);
  write_npy(flags.output, std::as_const(output).view());
  if (!flags.has_stats && !flags.is_json) return;
  const ErrorStatistics stats =
      error_statistics(input.view(), std::as_const(output).view(), format, options);
  std::FILE* out = flags.output == "-" ? stderr : stdout;
  (flags.is_json ? print_statistics_json : print_statistics_table)(out, to_string(format), stats);
}

std::uint32_t first_code(const Tensor& codes) {
  switch (codes.dtype()) {
    case DType::u8:
      return codes.as<std::uint8_t>()[0];
    case DType::u16:
      return codes.as<std::uint16_t>()[0];
    default:
      return codes.as<std::uint32_t>()[0];
  }
}

// Other packages have no codes, unbounded grids none of fixed width, and NaN not everywhere one.
bool has_code(const Format& format, const QuantizeOptions& options, float value) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  return options.compat == Compat::none && (grid == nullptr || grid->clamps) &&
         (!std::isnan(value) || describe(format.element).has_nan);
}

// One number; it is a group of its own, so that a scale from the data fits it alone.
void run_value(const RoundFlags& flags) {
  const Format format = parse_format(flags.rounding.format);
  const QuantizeOptions options = options_of(flags.rounding, format);
  Tensor input(DType::f32, Shape{1});
  input.as<float>()[0] = flags.value;
  if (!has_code(format, options, flags.value)) {
    quantize(std::as_const(input).view(), input.view(), format, options);
    const float rounded = input.as<float>()[0];
    const Json json = {{"format", to_string(format)},
                       {"input", json_number(double{flags.value})},
                       {"value", json_number(double{rounded})}};
    return flags.is_json ? fmt::print("{}\n", json.dump(2)) : fmt::print("{}\n", rounded);
  }
  const Encoded encoded = encode(std::as_const(input).view(), format, options);
  const Tensor decoded = decode(encoded, format);
  const bool is_double = decoded.dtype() == DType::f64;
  const double value = is_double ? decoded.as<double>()[0] : double{decoded.as<float>()[0]};
  const int digits = (describe(format.element).code_bits + 3) / 4;
  const std::string code = fmt::format("0x{:0{}x}", first_code(encoded.codes), digits);
  const bool has_scale = encoded.scales.elements() > 0;
  const float scale = has_scale ? encoded.scales.as<float>()[0] * encoded.tensor_scale : 1.0F;
  const int zero = encoded.zeros.elements() > 0 ? encoded.zeros.as<std::int32_t>()[0] : 0;
  if (flags.is_json) {
    const Json json = {
        {"format", to_string(format)},         {"input", json_number(double{flags.value})},
        {"value", json_number(value)},         {"code", code},
        {"scale", json_number(double{scale})}, {"zero", zero}};
    return fmt::print("{}\n", json.dump(2));
  }
  const std::string shortest =
      is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  fmt::print("{}  (code {}{}{})\n", shortest, code,
             has_scale ? fmt::format(", scale {}", scale) : "",
             zero != 0 ? fmt::format(", zero {}", zero) : "");
}

}  // namespace

void add_round(CLI::App& app) {
  CLI::App& verb =
      *app.add_subcommand("round", "round an array, or one number, to a format, keeping it fp32");
  const auto flags = std::make_shared<RoundFlags>();
  add_rounding_flags(verb, flags->rounding);
  CLI::Option* stats = verb.add_flag("--stats", flags->has_stats,
                                     "print the error made; on standard error where OUT is -");
  verb.add_flag("--json", flags->is_json, "the same as JSON");
  CLI::Option* input =
      verb.add_option("IN.npy", flags->input, "fp32, fp16 or bfloat16 array, - for standard input")
          ->type_name("");
  CLI::Option* output = verb.add_option("OUT.npy", flags->output,
                                        "fp32 array of the same shape, - for standard output")
                            ->type_name("");
  CLI::Option* value = verb.add_option("--value", flags->value,
                                       "one fp32 number instead of arrays; prints value and code")
                           ->type_name("X")
                           ->excludes(input)
                           ->excludes(stats);
  verb.footer(
      "Examples:\n"
      "  nibble round --to e4m3 --value 3.14159\n"
      "  nibble round --to e4m3 --stats in.npy out.npy\n"
      "  nibble round --to 'bfp(8,block=16)' --rounding stochastic --seed 1 - - < in.npy > "
      "out.npy");
  verb.callback([=] {
    if (value->count() > 0) return run_value(*flags);
    for (const CLI::Option* file : {input, output}) {
      if (file->count() == 0) throw CLI::RequiredError(file->get_name());
    }
    run(*flags);
  });
}

}  // namespace nibble
