// SPDX-License-Identifier: Apache-2.0
// nibble round: an array rounded to a format, still fp32.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/nibble/json.h"
#include "apps/nibble/quantize_flags.h"
#include "apps/nibble/verb.h"
#include "nibble/core/npy.h"
#include "nibble/kernels/quantize.h"

namespace nibble {
namespace {

struct Flags {
  QuantizeFlags quantize;
  std::string input;
  std::string output;
  bool has_stats = false;
  bool is_json = false;
};

void print_table(std::FILE* out, const std::string& format, const ErrorStatistics& s) {
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

void print_json(std::FILE* out, const std::string& format, const ErrorStatistics& s) {
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

void run(const Flags& flags) {
  const Format format = parse_format(flags.quantize.format);
  const QuantizeOptions options = options_of(flags.quantize, format);
  const Tensor input = read_floats(flags.input);
  Tensor output(DType::f32, input.shape());
  quantize(input.view(), output.view(), format, options);
  write_npy(flags.output, std::as_const(output).view());
  if (!flags.has_stats && !flags.is_json) return;
  const ErrorStatistics stats =
      error_statistics(input.view(), std::as_const(output).view(), format, options);
  std::FILE* out = flags.output == "-" ? stderr : stdout;
  (flags.is_json ? print_json : print_table)(out, to_string(format), stats);
}

}  // namespace

void add_round(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("round", "round an array to a format, keeping it fp32");
  const auto flags = std::make_shared<Flags>();
  add_quantize_flags(verb, flags->quantize);
  verb.add_flag("--stats", flags->has_stats,
                "print the error made; on standard error where OUT is -");
  verb.add_flag("--json", flags->is_json, "the same as JSON");
  verb.add_option("IN.npy", flags->input, "fp32, fp16 or bfloat16 array, - for standard input")
      ->required()
      ->type_name("");
  verb.add_option("OUT.npy", flags->output, "fp32 array of the same shape, - for standard output")
      ->required()
      ->type_name("");
  verb.footer(
      "Examples:\n"
      "  nibble round --to e4m3 --stats in.npy out.npy\n"
      "  nibble round --to 'bfp(8,block=16)' --rounding stochastic --seed 1 - - < in.npy > "
      "out.npy");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
