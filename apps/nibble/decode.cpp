// SPDX-License-Identifier: Apache-2.0
// nibble decode: the values of codes.
#include <algorithm>
#include <charconv>
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/nibble/rounding_flags.h"
#include "apps/nibble/verb.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"
#include "nibble/kernels/quantize.h"

namespace nibble {
namespace {

struct DecodeFlags {
  std::string format;
  std::string codes;
  std::string output;
  std::string scales;
  std::string zeros;
  std::string tensor_scale;
  std::vector<std::int64_t> shape;
  bool is_packed = false;
};

template <class T>
Tensor one(T value) {
  Tensor tensor(DTypeOf<T>::value, Shape{1});
  tensor.as<T>()[0] = value;
  return tensor;
}

// A number, or the file that encode wrote.
float tensor_scale_of(const std::string& text) {
  float scale = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, scale);
  if (error != std::errc{} || stop != end) {
    const Tensor tensor = read_floats(text);
    if (tensor.elements() != 1) {
      throw Error("decode", text + ": elements", std::to_string(tensor.elements()), "1",
                  ErrorKind::input);
    }
    scale = tensor.as<float>()[0];
  }
  if (!std::isfinite(scale) || scale < 0) {
    throw Error("decode", "--tensor-scale", text, "a finite number");
  }
  return scale;
}

Tensor read_codes(const DecodeFlags& flags, const Format& format) {
  Tensor codes = read_npy(flags.codes);
  if (!flags.is_packed) return codes;
  if (codes.dtype() != DType::u8) {
    throw Error("decode", flags.codes + ": element type", name_of(codes.dtype()), "u8 (packed)",
                ErrorKind::input);
  }
  const auto bytes = std::as_const(codes).as<std::uint8_t>();
  return unpack_codes({bytes.begin(), bytes.end()}, describe(format.element).code_bits,
                      Shape(flags.shape));
}

// What the format has no use for.
void check_flags(const DecodeFlags& flags, const Scaling& scaling) {
  const auto refuse = [&](const char* option, const std::string& path, bool is_used) {
    if (!path.empty() && !is_used)
      throw Error("decode", flags.format + ": " + option, path, "none: the format has none");
  };
  const ScaleKind kind = scaling.kind;
  refuse("--scales", flags.scales, kind != ScaleKind::none);
  refuse("--zeros", flags.zeros, kind == ScaleKind::minmax || kind == ScaleKind::given);
  refuse("--tensor-scale", flags.tensor_scale, kind == ScaleKind::two_level);
}

// Scales of the format itself stand in where no file is given.
void fill_scales(const DecodeFlags& flags, const Format& format, Encoded& encoded) {
  const Scaling& s = format.scaling;
  const bool is_written = s.kind == ScaleKind::given && s.granularity == Granularity::tensor;
  const auto need = [&](std::string_view option) {
    throw Error("decode", to_string(format) + ": " + std::string(option), "nothing",
                "the file that encode wrote");
  };
  if (!flags.scales.empty())
    encoded.scales = read_floats(flags.scales);
  else if (is_written)
    encoded.scales = one(s.scale);
  else if (s.kind != ScaleKind::none)
    need("--scales");
  if (!flags.zeros.empty())
    encoded.zeros = read_integers(flags.zeros);
  else if (is_written)
    encoded.zeros = one<std::int32_t>(s.zero);
  else if (s.kind == ScaleKind::minmax)
    need("--zeros");
  if (!flags.tensor_scale.empty())
    encoded.tensor_scale = tensor_scale_of(flags.tensor_scale);
  else if (s.tensor_scale != 0)
    encoded.tensor_scale = s.tensor_scale;
  else if (s.kind == ScaleKind::two_level)
    need("--tensor-scale");
}

void run(const DecodeFlags& flags) {
  const Format format = parse_format(flags.format);
  check_flags(flags, format.scaling);
  Encoded encoded;
  encoded.codes = read_codes(flags, format);
  fill_scales(flags, format, encoded);
  const Tensor values = decode(encoded, format);
  write_npy(flags.output, values.view());
}

}  // namespace

void add_decode(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("decode", "turn the codes of a format into values");
  const auto flags = std::make_shared<DecodeFlags>();
  verb.add_option("--from", flags->format, "the format, as given to encode")
      ->required()
      ->type_name("FORMAT");
  verb.add_option("--scales", flags->scales, "the scales that encode wrote")->type_name("S.npy");
  verb.add_option("--zeros", flags->zeros, "the zero points that encode wrote")->type_name("Z.npy");
  verb.add_option("--tensor-scale", flags->tensor_scale,
                  "the tensor's scale (nvfp4): file or number")
      ->type_name("T.npy");
  CLI::Option* packed =
      verb.add_flag("--packed", flags->is_packed, "the codes are packed in bytes");
  CLI::Option* shape = verb.add_option("--shape", flags->shape, "shape of packed codes, e.g. 2,3")
                           ->delimiter(',')
                           ->allow_extra_args(false)
                           ->type_name("N,N")
                           ->needs(packed);
  packed->needs(shape);
  verb.add_option("CODES.npy", flags->codes, "uint8, uint16 or uint32 codes, - for standard input")
      ->required()
      ->type_name("");
  verb.add_option("OUT.npy", flags->output,
                  "fp32 array (fp64 where the values need it), - for standard output")
      ->required()
      ->type_name("");
  verb.footer(
      "Examples:\n"
      "  nibble decode --from e4m3 codes.npy out.npy\n"
      "  nibble decode --from mxfp4 --packed --shape 64,256 --scales scales.npy codes.npy out.npy");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
