// SPDX-License-Identifier: Apache-2.0
// nibble encode: an array as the integer codes of a format, with the scales that give them meaning.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/nibble/rounding_flags.h"
#include "apps/nibble/verb.h"
#include "core/atomic_file.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"
#include "nibble/kernels/quantize.h"

namespace nibble {
namespace {

struct EncodeFlags {
  RoundingFlags rounding;
  std::string input;
  std::string output;
  std::string scales_out;
  std::string zeros_out;
  std::string tensor_scale_out;
  bool is_packed = false;
};

// Codes whose scale is lost cannot be read again; a file for what does not exist is a mistake too.
void check_outputs(const EncodeFlags& flags, const Format& format) {
  const ScaleKind kind = format.scaling.kind;
  const bool has_scales = kind != ScaleKind::none;
  const auto* grid = std::get_if<GridElement>(&format.element);
  const bool has_zeros = grid != nullptr && grid->is_integer &&
                         (kind == ScaleKind::minmax || kind == ScaleKind::given);
  const bool has_tensor_scale = kind == ScaleKind::two_level;
  const bool is_from_data = has_scales && kind != ScaleKind::given;
  const auto check = [&](std::string_view option, const std::string& path, bool needed,
                         bool exists) {
    const std::string what = to_string(format) + ": " + std::string(option);
    if (needed && path.empty()) {
      throw Error("encode", what, "nothing", "a file: the data decides this, decode needs it");
    }
    if (!exists && !path.empty()) throw Error("encode", what, path, "no file: the format has none");
  };
  check("--scales-out", flags.scales_out, is_from_data, has_scales);
  check("--zeros-out", flags.zeros_out, kind == ScaleKind::minmax, has_zeros);
  check("--tensor-scale-out", flags.tensor_scale_out, has_tensor_scale, has_tensor_scale);
}

// Several arrays written together: all files appear, or none does.
class NpyOutputs {
 public:
  // Writes the array beside its target; "-" is standard output. No two may have the same target.
  void add(const std::string& path, ConstTensorView array);

  void commit();  // renames all of them

 private:
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::vector<ConstTensorView> to_standard_output_;
};

void NpyOutputs::add(const std::string& path, ConstTensorView array) {
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  const std::string target = path == "-" || resolved.empty() ? path : resolved.string();
  if (std::find(paths_.begin(), paths_.end(), target) != paths_.end()) {
    throw Error("write", "two arrays for one output", path, "a file for each");
  }
  paths_.push_back(target);
  if (path == "-") {
    to_standard_output_.push_back(array);
    return;
  }
  files_.push_back(std::make_unique<AtomicFile>(path));
  write_npy(files_.back()->stream(), array, path);
}

void NpyOutputs::commit() {
  for (const ConstTensorView& array : to_standard_output_) write_npy("-", array);
  for (const auto& file : files_) file->commit();
}

void run(const EncodeFlags& flags) {
  const Format format = parse_format(flags.rounding.format);
  check_outputs(flags, format);
  const QuantizeOptions options = options_of(flags.rounding, format);
  const Tensor input = read_floats(flags.input);
  const Encoded encoded = encode(input.view(), format, options);
  std::vector<std::uint8_t> packed;
  if (flags.is_packed)
    packed = pack_codes(encoded.codes.view(), describe(format.element).code_bits);
  Tensor tensor_scale(DType::f32, Shape{});
  tensor_scale.as<float>()[0] = encoded.tensor_scale;

  NpyOutputs outputs;
  outputs.add(flags.output, flags.is_packed ? view_of(std::span<const std::uint8_t>(packed))
                                            : encoded.codes.view());
  if (!flags.scales_out.empty()) outputs.add(flags.scales_out, encoded.scales.view());
  if (!flags.zeros_out.empty()) outputs.add(flags.zeros_out, encoded.zeros.view());
  if (!flags.tensor_scale_out.empty()) {
    outputs.add(flags.tensor_scale_out, std::as_const(tensor_scale).view());
  }
  outputs.commit();
}

}  // namespace

void add_encode(CLI::App& app) {
  CLI::App& verb = *app.add_subcommand("encode", "turn an array into the codes of a format");
  const auto flags = std::make_shared<EncodeFlags>();
  add_rounding_flags(verb, flags->rounding);
  verb.add_option("--scales-out", flags->scales_out,
                  "where the scales go; needed where the data decides them")
      ->type_name("S.npy");
  verb.add_option("--zeros-out", flags->zeros_out, "where the zero points go (scale=minmax)")
      ->type_name("Z.npy");
  verb.add_option("--tensor-scale-out", flags->tensor_scale_out,
                  "where the tensor's own scale goes (nvfp4)")
      ->type_name("T.npy");
  verb.add_flag("--packed", flags->is_packed,
                "codes bit after bit in bytes, lowest first: two 4-bit codes a byte");
  verb.add_option("IN.npy", flags->input, "fp32, fp16 or bfloat16 array, - for standard input")
      ->required()
      ->type_name("");
  verb.add_option("OUT.npy", flags->output, "uint8, uint16 or uint32 codes, - for standard output")
      ->required()
      ->type_name("");
  verb.footer(
      "Examples:\n"
      "  nibble encode --to e4m3 in.npy codes.npy\n"
      "  nibble encode --to mxfp4 --packed --scales-out scales.npy in.npy codes.npy");
  verb.callback([flags] { run(*flags); });
}

}  // namespace nibble
