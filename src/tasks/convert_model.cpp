// SPDX-License-Identifier: Apache-2.0
// Reads the form that a path ends with, writes the other.
#include "tasks/convert_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <filesystem>

#include "nibble/core/error.h"
#include "nibble/foreign/onnx.h"
#include "nibble/foreign/read_weights.h"
#include "nibble/graph/network_text.h"
#include "nibble/quantization/quantize_model.h"
#include "nibble/version.h"

namespace nibble::inline tasks {
namespace {

namespace fs = std::filesystem;

bool is_nib(const std::string& path) {
  return path.ends_with(".nib");
}

bool is_onnx(const std::string& path) {
  return path.ends_with(".onnx");
}

bool is_weights(const std::string& path) {
  return path.ends_with(".npz") || path.ends_with(".safetensors");
}

// Quantized ONNX models come as what their integers stand for.
Model in_integers(Model model) {
  const bool is_quantized = std::ranges::any_of(
      model.network.nodes, [](const Node& node) { return is<FakeQuantize>(node.op); });
  if (!is_quantized) return model;
  return integer_network_of(model);
}

Model read_any(const ConvertFlags& flags, std::vector<std::string>& notes) {
  if (is_onnx(flags.from)) {
    return in_integers(read_onnx(flags.from, &notes));
  }
  if (is_weights(flags.from)) {
    Model model{.network = load_network(flags.network), .parameters = {}};
    read_weights(model, flags.from);
    return model;
  }
  if (fs::is_regular_file(flags.from)) {
    throw Error("convert", flags.from, "a file of another kind",
                "an .onnx file, weights (.npz, .safetensors), a layer directory or a .nib model");
  }
  return read_layer_directory(flags.from, {.input_size = flags.input_size});
}

// How bytes of pictures enter; floats are taken as they are.
void set_normalization(Model& model, const ConvertFlags& flags) {
  Input& input = std::get<Input>(model.network.nodes.front().op);
  if (!flags.mean.empty()) input.mean = flags.mean;
  if (!flags.deviation.empty()) input.deviation = flags.deviation;
  (void)infer_shapes(model.network);
}

// Options that FROM has no use for, or needs.
void check_flags(const ConvertFlags& flags, bool is_sized) {
  const bool is_from_nib = is_nib(flags.from);
  if (flags.to && is_from_nib == is_nib(*flags.to)) {
    throw CLI::ValidationError(
        "TO", fmt::format("got {}, expected {}", *flags.to,
                          is_from_nib ? "an .onnx file or a folder, as FROM is a .nib"
                                      : "a .nib, as FROM is none"));
  }
  if (is_sized && (is_from_nib || is_onnx(flags.from) || is_weights(flags.from))) {
    throw CLI::ValidationError("--input-size", "only a layer directory does not say it itself");
  }
  if (is_from_nib && (!flags.mean.empty() || !flags.deviation.empty())) {
    throw CLI::ValidationError("--mean, --deviation", "FROM is a .nib, which has its own");
  }
  if (is_weights(flags.from) == flags.network.empty()) {
    throw CLI::ValidationError("--network",
                               "belongs to weights (.npz, .safetensors), and only there");
  }
}

}  // namespace

Converted convert_model(const CLI::App& verb, const ConvertFlags& flags) {
  check_flags(flags, verb.count("--input-size") > 0);
  if (is_nib(flags.from)) {
    Converted made{.file = read_model(flags.from), .notes = {}};
    if (!flags.to) return made;
    if (is_onnx(*flags.to)) {
      write_onnx(made.file.model, *flags.to);
    } else {
      write_layer_directory(made.file.model, *flags.to);
    }
    return made;
  }
  Converted made;
  made.file.model = read_any(flags, made.notes);
  made.file.origin = {{"made_by", std::string("nibble convert ") + kVersion},
                      {"converted_from", flags.from}};
  set_normalization(made.file.model, flags);
  if (flags.to) write_model(*flags.to, made.file.model, made.file.origin);
  return made;
}

void add_convert_options(CLI::App& verb, ConvertFlags& flags) {
  verb.add_option("--input-size", flags.input_size,
                  "rows and columns of a picture, which a layer directory does not say")
      ->capture_default_str()
      ->type_name("N");
  verb.add_option("--network", flags.network,
                  "whose weights these are: a name that comes with Nibble, or a .toml file")
      ->type_name("NAME");
  verb.add_option("--mean", flags.mean,
                  "bytes enter as (byte/255 - mean)/deviation: the mean of each channel")
      ->delimiter(',')
      ->type_name("M,...");
  verb.add_option("--deviation", flags.deviation, "and the deviation of each")
      ->delimiter(',')
      ->type_name("D,...");
}

}  // namespace nibble::inline tasks
